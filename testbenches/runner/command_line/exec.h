// `hcasim exec`: the testbench `applications` with the programs that stand behind `--`.
#pragma once

#include <string>
#include <vector>

#include "testbenches/runner/command_line/run.h"

namespace hcasim {

// Words behind the first `--` of `hcasim exec`, program by program; `argc` counts what is left for the options.
struct program_words {
  int argc = 0;
  std::vector<std::vector<std::string>> programs;
};
program_words take_programs(int argc, char** argv);

// Throws input_error: there is none, or one has no words.
run_options with_programs(run_options options, const program_words& words);

}  // namespace hcasim
