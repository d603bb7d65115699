// The books of a finished run, as its statistics keep them.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/checks/system_laws/traffic.h"
#include "testbenches/program/results/measurement.h"

namespace hcasim::metamorphic {

// Returns unequal sums that must be equal: units sent by one unit and received by another.
std::vector<std::string> unbalanced(hcasim::system& s, const traffic_options& o);
// Returns the queues that break Little's law: a level, over the run, other than the sum of the waits in its histogram.
std::vector<std::string> unlike_little(const measurement& m);

}  // namespace hcasim::metamorphic
