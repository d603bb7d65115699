// One run from its description to its results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/execution/platform.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/recording/observer.h"

namespace hcasim {

struct run_options {
  std::string what;  // a testbench's name or a description file
  std::optional<std::filesystem::path> folder;
  std::vector<std::string> set;                          // --set, "path=value"
  std::vector<std::string> parameters;                   // --param, "name=value"
  std::vector<std::pair<std::string, std::string>> own;  // --NAME VALUE, a parameter of the testbench
  std::optional<std::string> seed;
  std::uint64_t point = 0;  // point of a study, from 1 on
  observer_list observers;  // with their options
  ps from{0};               // begin of the recording
  ps until = never;         // end of the recording
  bool explain = false;
  bool cost = false;
  std::optional<std::string> what_if;  // the pattern; empty = find the resources that matter
  bool force = false;
  bool json = false;
  bool quiet = false;    // prints failures alone
  bool verbose = false;  // tells the progress as lines
};

// Status 0 or 1; throws input_error (status 2).
int run_testbench(run_options options, platform_factory machine);

}  // namespace hcasim
