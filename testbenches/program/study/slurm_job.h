// The files that the sweep and the tasks of its job share: a folder DIR/slurm with the points of each task, and a file for each
// point that ended. Both sides of a point may be repeated: the record is the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testbenches/program/study/point.h"

namespace hcasim {

class slurm_job_folder {
 public:
  explicit slurm_job_folder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  using task_list = std::vector<std::vector<std::uint64_t>>;

  // Empties the folder and writes what the tasks are. Throws input_error when it cannot be written, as all that write.
  void begin(const study& s, const task_list& tasks) const;
  // Nothing when there are no tasks, or those of another study or version.
  [[nodiscard]] std::optional<task_list> tasks(const study& s) const;

  // A record appears as a whole or not at all; its catalogue once in the folder.
  void put(point_record& r) const;
  [[nodiscard]] bool has(std::uint64_t id) const;
  [[nodiscard]] bool knows_catalogue(const std::string& hash) const;
  // Points that have ended, in ascending order.
  [[nodiscard]] std::set<std::uint64_t> ended() const;
  // Nothing when it was forgotten.
  [[nodiscard]] std::optional<point_record> take(std::uint64_t id) const;
  // Gives the record's room back; that the point has ended stays known.
  void forget(std::uint64_t id) const;
  // A process is, or was, at work on it.
  [[nodiscard]] bool begun(std::uint64_t id) const;

  [[nodiscard]] std::filesystem::path script() const { return folder_ / "job.sh"; }
  // `task`: a number, or %a for Slurm.
  [[nodiscard]] std::filesystem::path log(const std::string& task) const { return folder_ / ("task-" + task + ".log"); }
  void remove() const;

 private:
  [[nodiscard]] std::filesystem::path record(std::uint64_t id) const;

  std::filesystem::path folder_;
};

void write_text(const std::filesystem::path& file, const std::string& content);

}  // namespace hcasim
