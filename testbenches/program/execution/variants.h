// Runs of one description with other settings, same testbench and seed, without recorders: each in a process of its own, as
// many at once as there are cores.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/execution/platform.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/processes/pool.h"

namespace hcasim {

// Returns the figures that the run is judged by; without a headline of its own, the simulated time of its measured part.
std::vector<headline> headlines_of(const run_context& context);

class variant_runs {
 public:
  using settings = std::vector<std::pair<std::string, std::string>>;
  struct outcome {
    std::vector<headline> values;  // empty = it did not pass
    std::string why;               // then
  };
  // Make it before anything is elaborated in this process: the runs are forks of it as it is now. `scratch` is there.
  variant_runs(description base, std::string testbench, platform_factory machine, std::filesystem::path scratch,
               std::vector<settings> variants, unsigned jobs);

  // In the order of `which`, indices of variants. A run that takes longer than `limit` of wall-clock time is given up.
  std::vector<outcome> run(const std::vector<std::size_t>& which, std::chrono::milliseconds limit);

 private:
  [[nodiscard]] std::string in_child(std::uint64_t id) const;

  description base_;
  std::string testbench_;
  platform_factory machine_;
  std::filesystem::path scratch_;
  std::vector<settings> variants_;
  process_pool pool_;
};

}  // namespace hcasim
