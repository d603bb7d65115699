// A whole program that sets RTL from elsewhere against the model of a unit:
//   int sc_main(int argc, char** argv) { return hcasim::lockstep::program(argc, argv, "key_check", hcasim::rtl::make_mine); }
// --help lists its arguments. It prints a line for each stream; it returns 0 when no answer differs and every latency is within
// the bounds, 1 when not, 2 for arguments that it does not know.
#pragma once

#include <optional>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// `own`: the bounds of RTL that takes its own time, which options may change; nothing = those of the unit.
int program(int argc, char** argv, const std::string& unit, rtl::design_factory make, const std::optional<bounds>& own = {});

}  // namespace hcasim::lockstep
