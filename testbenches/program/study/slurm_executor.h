// The points of a study as array jobs of Slurm. Slurm decides when and where tasks run and runs them again (sbatch --requeue);
// this side hands over points, takes in what they left, and submits again what a task that ended did not get to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testbenches/program/study/slurm_client.h"
#include "testbenches/program/study/slurm_job.h"
#include "tlm/base/units.h"

namespace hcasim {

struct slurm_options {
  std::vector<std::string> sbatch;    // handed on to sbatch
  std::uint64_t points_per_task = 0;  // 0 = such that there are at most a thousand tasks
  unsigned at_once = 0;               // tasks; 0 = as many as Slurm likes
  std::string time_limit;             // of one point, as given
};

class slurm_executor {
 public:
  // `folder`: of the results, on a file system that all nodes see.
  slurm_executor(const study& s, const std::filesystem::path& folder, slurm_options o, int stop_fd);

  std::function<void(point_record)> done;        // may throw: the job is then cancelled
  std::function<void(const std::string&)> idle;  // how the tasks are

  // Runs the points that are missing. False = stopped, and the job is cancelled. Throws input_error when there is no Slurm or
  // its tasks do not even begin.
  bool run(std::set<std::uint64_t> missing);

 private:
  bool rounds();
  bool adopt();
  void submit();
  bool follow();
  void collect();
  void look();
  void task_ended(std::size_t task);
  [[nodiscard]] bool stopped(int milliseconds) const;

  const study& study_;
  slurm_job_folder folder_;
  slurm_options options_;
  int stop_fd_;
  slurm_client slurm_;
  std::set<std::uint64_t> missing_;
  slurm_job_folder::task_list tasks_;
  std::string job_;
  std::map<std::size_t, array_task> active_;
  std::map<std::size_t, int> absent_;  // a task Slurm no longer lists: how often it was not there
  std::string complaint_;              // of a task that ended before its first point
  std::string status_;
};

// Runs a task of such a job: hcasim sweep STUDY --slurm-task DIR/slurm.
int run_slurm_task(const study& s, platform_factory machine, const std::filesystem::path& folder, std::optional<ps> time_limit);

}  // namespace hcasim
