// hcasim run --what-if: the same description again with one resource after the other relieved, to see which of them binds.
//
// Without a pattern the units that took part are relieved whole first, and of those that change anything each knob by itself;
// so a resource is found that no statistic tells of, and a run that little holds back costs few runs more.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/variants.h"
#include "testbenches/program/explanation/gains.h"

namespace hcasim {

class unit;

class what_if {
 public:
  // Before anything is elaborated in this process. `d` as it was applied to `run`; throws input_error when `pattern` names
  // nothing that can be relieved; an empty one is for what is found to matter.
  what_if(const description& d, const prepared_run& run, platform_factory machine, const std::filesystem::path& scratch,
          const std::string& pattern, unsigned jobs);

  // When the run itself has ended. `seconds`: of wall-clock time that it took.
  gains run(const std::vector<resource_use>& resources, const std::vector<unit*>& units, double seconds);
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  void try_out(const std::vector<std::size_t>& which, gains& g);
  [[nodiscard]] std::vector<std::size_t> units_that_took_part(const std::vector<unit*>& units) const;
  [[nodiscard]] std::vector<std::size_t> knobs_to_try(const gains& g) const;

  bool pattern_;
  std::vector<relief> reliefs_;
  variant_runs variants_;  // 0 = as described; then the reliefs
  std::chrono::milliseconds limit_{0};
  std::size_t runs_ = 0;
};

}  // namespace hcasim
