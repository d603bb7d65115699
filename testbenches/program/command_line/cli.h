// The command line: parses the arguments, and runs the named command.
#pragma once

#include "testbenches/program/execution/platform.h"

namespace hcasim {

// Runs the program; returns its exit status: 0 done, 1 the run failed, 2 bad input.
int command_line(int argc, char** argv, platform_factory machine);

}  // namespace hcasim
