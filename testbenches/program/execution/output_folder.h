// The place of a run's files: a temporary folder beside the final one, moved into place at the very end. Without commit()
// nothing is left behind, not by an interrupt either. The temporary folder is claimed when the run begins: a second run with
// the same place is refused at once. The next run removes the files of a killed run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/execution/folder_claim.h"
#include "testbenches/program/execution/interrupt.h"

namespace hcasim {

// The place holds a result, or another run is writing there.
class folder_taken : public input_error {
 public:
  using input_error::input_error;
};

class output_folder {
 public:
  // Throws input_error when `final_place` exists and may not be replaced, cannot be written, or another run is about to. Only
  // an earlier result (or an empty folder) is ever replaced.
  output_folder(const std::filesystem::path& final_place, bool replace);
  ~output_folder();
  output_folder(const output_folder&) = delete;
  output_folder& operator=(const output_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  [[nodiscard]] const std::filesystem::path& final_place() const { return final_; }  // absolute

  void save(const std::string& name, const std::string& content) const;
  void commit();

 private:
  void check_final_place() const;
  void claim();
  void recover() const;
  void discard() noexcept;

  std::filesystem::path final_;
  std::filesystem::path temporary_;
  std::filesystem::path made_;  // the topmost parent folder that had to be made
  bool replace_;
  bool committed_ = false;
  std::optional<folder_claim> claim_;
  std::optional<interrupt_guard> guard_;
};

// Takes `parent`/`name`-NNN with a number behind those of all earlier results, also if other runs do so at the same time.
void claim_numbered(const std::filesystem::path& parent, const std::string& name, std::optional<output_folder>& out);

// Reads the result of a run in `place`: its result.json, or that file. Throws input_error when there is none or it is damaged.
nlohmann::ordered_json read_result(const std::filesystem::path& place);

}  // namespace hcasim
