// The books of a finished run, as its statistics keep them.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/checks/system_laws/traffic.h"
#include "testbenches/program/results/measurement.h"

namespace hcasim::metamorphic {

// Sums that must be equal and are not: what one unit sent and another one received.
std::vector<std::string> unbalanced(hcasim::system& s, const traffic_options& o);
// Little's law: queues whose level, over the run, is not the sum of the waits of their histogram.
std::vector<std::string> unlike_little(const measurement& m);

}  // namespace hcasim::metamorphic
