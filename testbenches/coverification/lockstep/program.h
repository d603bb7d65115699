// A whole program that compares a user's RTL with the model of a unit:
//   int sc_main(int argc, char** argv) { return hcasim::lockstep::program(argc, argv, "key_check", hcasim::rtl::make_mine); }
// --help lists its arguments. The program prints a line for each stream. It returns 0 = all answers are equal and all latencies
// within bounds, 1 = not so, 2 = unknown arguments.
#pragma once

#include <optional>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// Runs the program. `own`: the bounds of RTL with times of its own, which options may change; none = the unit's bounds.
int program(int argc, char** argv, const std::string& unit, rtl::design_factory make, const std::optional<bounds>& own = {});

}  // namespace hcasim::lockstep
