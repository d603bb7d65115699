// Fits the blocks of a plan one after the other and tells each evaluation to a log.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "testbenches/program/validation/fit_plan.h"
#include "testbenches/program/validation/replay.h"

namespace hcasim {

// The run was interrupted.
struct fit_interrupted {};

class fitter {
 public:
  struct surroundings {
    std::filesystem::path folder;  // for studies
    platform_factory machine;
    unsigned jobs = 1;
    int stop_fd = -1;
    std::function<void(const std::string& line)> log;
  };
  using series_errors = std::map<std::string, double>;  // "V01 SERIES": mean error, %

  fitter(const fit_plan& plan, const std::vector<compared_experiment>& data, std::uint64_t evaluations, std::uint64_t seed,
         surroundings s)
      : plan_(plan), data_(data), evaluations_(evaluations), seed_(seed), around_(std::move(s)) {}

  // Fits without the series `left_out`; nullptr = with all. Blocks that precede its use are taken from `known`, the result of
  // an earlier fit. Returns the values of each block's knobs; of a block whose series are all left out, none.
  std::vector<knob_values> fit(const series_choice* left_out, const std::vector<knob_values>& known);
  // Returns the errors of all series that the plan names, with these values above the presets'.
  series_errors errors(const knob_values& knobs);

 private:
  using series_filter = std::function<bool(const std::string& experiment, const std::string& series)>;

  [[nodiscard]] std::vector<compared_experiment> selected(const series_filter& wanted) const;
  // Runs and judges the selected series with each set of values.
  std::vector<std::vector<compared_experiment>> runs(const series_filter& wanted, const std::vector<knob_values>& sets);
  [[nodiscard]] knob_values fit_block_values(const fit_block& b, const series_filter& wanted, const knob_values& frozen);

  const fit_plan& plan_;
  const std::vector<compared_experiment>& data_;
  std::uint64_t evaluations_;
  std::uint64_t seed_;
  surroundings around_;
  std::uint64_t batches_ = 0;
};

}  // namespace hcasim
