// hcasim fit: searches the constants of a preset that bring the model nearest to published measurements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "testbenches/program/execution/platform.h"
#include "testbenches/program/validation/comparison.h"

namespace hcasim {

struct fit_options {
  std::string plan;                            // a file, or the name of one in the calibration's folder `fit`
  std::optional<std::uint64_t> evaluations{};  // of a block; nothing = the plan's
  std::optional<std::uint64_t> seed{};         // likewise
  std::string left_out;          // "V11: PATTERN"; empty = the fit, and one more for each that the plan leaves out
  std::filesystem::path csv;     // empty = the data of the source tree
  std::filesystem::path folder;  // for the preset and the log; empty = none are written
  unsigned jobs = 0;             // 0 = one per core
  bool json = false;             // the result as JSON, and the log on standard error
};

// Returns the cost of a judged experiment: its error as a share of its tolerance. Broken limits and failed shapes add to it.
double cost_of(const compared_experiment& e);

// Status 0; 128 + signal: interrupted. Throws input_error (status 2).
int run_fit(const fit_options& o, platform_factory machine);

}  // namespace hcasim
