// hcasim validate: published measurements of real adapters beside what the model gives.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/execution/platform.h"

namespace hcasim {

struct validate_options {
  std::vector<std::string> experiments;  // names, or files with descriptions; empty = all that the data has
  std::string preset;                    // instead of the experiments' own
  std::filesystem::path csv;             // empty = the data of the source tree
  std::filesystem::path folder;          // keeps the studies; empty = they are removed
  std::filesystem::path page;            // its part between two marks is written anew
  unsigned jobs = 0;                     // 0 = one per core
  bool json = false;
};

// Status 0: every point was run, and no preset claims an experiment that is outside its tolerance; 1: otherwise; 128 + signal:
// interrupted. Throws input_error (status 2).
int run_validate(const validate_options& o, platform_factory machine);

}  // namespace hcasim
