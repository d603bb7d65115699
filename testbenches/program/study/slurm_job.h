// The files shared by the sweep and the tasks of its job, in a folder DIR/slurm. It holds the points of each task, and a file
// for each ended point. A point may run again and be collected again: the record is the same.
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

  // Empties the folder and writes the tasks. Like all writers here, throws input_error when writing fails.
  void begin(const study& s, const task_list& tasks) const;
  // Returns the tasks; none when there are none, or tasks of another study or version.
  [[nodiscard]] std::optional<task_list> tasks(const study& s) const;

  // Writes a record as a whole or not at all; its catalogue once in the folder.
  void put(point_record& r) const;
  [[nodiscard]] bool has(std::uint64_t id) const;
  [[nodiscard]] bool knows_catalogue(const std::string& hash) const;
  // Points that have ended, in ascending order.
  [[nodiscard]] std::set<std::uint64_t> ended() const;
  // Returns the record; none when forgotten.
  [[nodiscard]] std::optional<point_record> take(std::uint64_t id) const;
  // Removes the record; the end of the point stays known.
  void forget(std::uint64_t id) const;
  // Returns whether a process is, or was, at work on the point.
  [[nodiscard]] bool begun(std::uint64_t id) const;

  [[nodiscard]] std::filesystem::path script() const { return folder_ / "job.sh"; }
  // Returns the log of a task: a number, or %a for Slurm.
  [[nodiscard]] std::filesystem::path log(const std::string& task) const { return folder_ / ("task-" + task + ".log"); }
  void remove() const;

 private:
  [[nodiscard]] std::filesystem::path record(std::uint64_t id) const;

  std::filesystem::path folder_;
};

void write_text(const std::filesystem::path& file, const std::string& content);

}  // namespace hcasim
