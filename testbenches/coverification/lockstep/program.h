// A whole program that sets RTL from elsewhere against the model of a unit:
//   int sc_main(int argc, char** argv) { return hcasim::lockstep::program(argc, argv, "key_check", hcasim::rtl::make_mine); }
// Arguments: --requests N, --seed N, --stall P, --stream FILE (replay), --out FOLDER (for what a difference leaves; default:
// .), --search-seconds N (for the shortest stream, at most), --steps false (the RTL is evaluated as a whole). Prints a line for
// each stream; returns 0 when no answer differs, 1 when one does, 2 for arguments that it does not know.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

int program(int argc, char** argv, const std::string& unit, rtl::design_factory make);

}  // namespace hcasim::lockstep
