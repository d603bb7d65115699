// A Slurm of one node on the loopback: munged, slurmctld and slurmd, all state in a folder. Ends with the object.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace hcasim::selftest {

class loopback_slurm {
 public:
  // Throws std::runtime_error with the log when it does not come up; sets SLURM_CONF for this process and its children.
  explicit loopback_slurm(std::filesystem::path folder);
  ~loopback_slurm();
  loopback_slurm(const loopback_slurm&) = delete;
  loopback_slurm& operator=(const loopback_slurm&) = delete;

 private:
  void start(const std::vector<std::string>& arguments);
  void end() noexcept;

  std::filesystem::path folder_;
  std::vector<pid_t> daemons_;
};

}  // namespace hcasim::selftest
