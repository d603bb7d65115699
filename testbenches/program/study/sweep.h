// hcasim sweep: all points of a study, some at once, into one result file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/execution/platform.h"
#include "testbenches/program/study/slurm_executor.h"
#include "tlm/base/units.h"

namespace hcasim {

struct sweep_options {
  std::filesystem::path file;
  std::filesystem::path folder;
  std::vector<std::string> at;  // "AXIS=VALUE": only these points
  unsigned jobs = 0;            // 0 = one per core
  bool resume = false;
  bool retry = false;    // run failed points of an earlier run again
  bool many = false;     // more than study::many_points
  bool dry_run = false;  // run one point only, for what all will cost
  bool json = false;
  std::optional<ps> time_limit;  // for one point, wall-clock time
  bool slurm = false;            // instead of processes on this machine
  slurm_options job;
  std::filesystem::path slurm_task;     // for a task of a Slurm job: the folder shared with the sweep
  std::function<void()> before_points;  // called when the study is known to be sound, before there are threads
};

// Status 0: every point passed; 1: some did not; 128 + signal: interrupted. Throws input_error (status 2).
int run_sweep(const sweep_options& options, platform_factory machine);

}  // namespace hcasim
