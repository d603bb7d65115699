// hcasim run --what-if: the same description again with one resource after the other relieved, to find the binding one.
//
// Without a pattern, all resources of each unit that took part are relieved at once, then all its latencies. Then each knob of
// the lists with an effect is relieved alone. Resources without a statistic are thus found, and a run without a bottleneck
// costs few further runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/variants.h"
#include "testbenches/program/explanation/what_if_gain.h"

namespace hcasim {

class unit;

class what_if {
 public:
  // Takes `d` as applied to `run`; call before anything is elaborated in this process. Throws input_error when `pattern` names
  // nothing that can be relieved; empty = find the resources.
  what_if(const description& d, const prepared_run& run, platform_factory machine, const std::filesystem::path& scratch,
          const std::string& pattern, unsigned jobs);

  // Tries out the changes when the run itself has ended. `seconds`: wall-clock time of the run.
  what_if_gain run(const std::vector<resource_use>& resources, const std::vector<unit*>& units, double seconds);
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  void try_out(const std::vector<std::size_t>& which, what_if_gain& g);
  [[nodiscard]] std::vector<std::size_t> units_that_took_part(const std::vector<unit*>& units) const;
  [[nodiscard]] std::vector<std::size_t> knobs_to_try(const what_if_gain& g) const;

  bool pattern_;
  std::vector<what_if_change> what_if_changes_;
  variant_runs variants_;  // 0 = as described; then the changes
  std::chrono::milliseconds limit_{0};
  std::size_t runs_ = 0;
};

}  // namespace hcasim
