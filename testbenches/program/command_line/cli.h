// The command line: reads it, and runs the command that it names.
#pragma once

#include "testbenches/program/execution/platform.h"

namespace hcasim {

// The program's exit status: 0 done, 1 the run failed, 2 bad input.
int command_line(int argc, char** argv, platform_factory machine);

}  // namespace hcasim
