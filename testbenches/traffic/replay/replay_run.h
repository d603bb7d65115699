// A recorded traffic as a run of the testbench `traffic`: the file, and the report.
#pragma once

#include <string>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/traffic/replay/replayer.h"

namespace hcasim::replay {

// Returns the number of nodes; 0 = the file cannot be read, and `load` says why.
std::size_t nodes_of(const std::string& file);
// Reads a file. Throws knob_error of `replay`.
trace load(const std::string& file);
// Adds figures and failures of a replay that has ended.
void report(const replayer& r, run_context& context);

}  // namespace hcasim::replay
