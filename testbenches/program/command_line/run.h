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
#include "testbenches/program/recording/waves.h"

namespace hcasim {

struct run_options {
  std::string what;  // a testbench's name or a description file
  std::optional<std::filesystem::path> folder;
  std::vector<std::string> set;                          // --set, "path=value"
  std::vector<std::string> parameters;                   // --param, "name=value"
  std::vector<std::pair<std::string, std::string>> own;  // --NAME VALUE, a parameter of the testbench
  std::optional<std::string> seed;
  std::uint64_t point = 0;         // of a study, from 1 on
  std::vector<std::string> trace;  // patterns; empty = every signal
  std::optional<wave_format> waves = wave_format::vcd;
  std::uint64_t wave_limit = 0;      // bytes; 0 = none
  std::vector<std::string> packets;  // forms of the packet capture: ib, roce
  bool spans = false;                // a Chrome trace
  std::string record_stream;         // UNIT=FILE, for lockstep
  ps from{0};                        // what is recorded begins
  ps until = never;                  // and ends
  bool explain = false;
  std::optional<std::string> what_if;  // the pattern; empty = what is found to matter
  bool force = false;
  bool json = false;
};

// Status 0 or 1; throws input_error (status 2).
int run_testbench(const run_options& options, platform_factory machine);

}  // namespace hcasim
