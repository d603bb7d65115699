// `hcasim exec` and others: a testbench with the programs that stand behind `--`.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/command_line/run.h"

namespace hcasim {

// Words behind the first `--` of such a command, program by program; `argc` counts what is left for the options.
struct program_words {
  int argc = 0;
  std::vector<std::vector<std::string>> programs;
};
program_words take_programs(const std::string& command, int argc, char** argv);

struct program_bench {
  std::string command;  // for what it says
  std::string testbench;
  std::string example;  // of the words behind the command
  std::size_t least_nodes = 1;
};
// Throws input_error: there is none, or one has no words.
run_options with_programs(run_options options, const program_words& words, const program_bench& bench);

}  // namespace hcasim
