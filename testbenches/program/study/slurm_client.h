// Slurm through its own programs: sbatch, squeue, scontrol, scancel. Everything Slurm can do with a job (partition, requeue,
// memory, accounts) is an option of sbatch that is passed on.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hcasim {

struct program_outcome {
  int status = 0;  // 127: there is no such program
  std::string out;
  std::string error;
};

// Runs a program found in PATH to its end.
program_outcome run_tool(const std::vector<std::string>& arguments);

struct array_task {
  std::string job;
  std::string state;   // RUNNING, PENDING, ...
  std::string reason;  // why it is pending
};

class slurm_client {
 public:
  // Jobs are found again by their name.
  explicit slurm_client(std::string job_name) : name_(std::move(job_name)) {}

  // Throws input_error when there is no Slurm, or it refuses. Returns the job.
  std::string submit(std::size_t tasks, unsigned at_once, const std::vector<std::string>& options, const std::string& script,
                     const std::string& log);
  // Tasks that have not ended, by their number. Returns what Slurm complains about when it does not answer.
  std::string active(std::map<std::size_t, array_task>& tasks) const;
  // How a task ended, in Slurm's words.
  [[nodiscard]] static std::string end_of(const std::string& job, std::size_t task);
  void cancel() const;

  // Throws input_error when the programs are not there.
  static void require();

 private:
  std::string name_;
};

}  // namespace hcasim
