// Checks that a run has given everything back, when nothing is under way any more.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"

namespace hcasim::kit {

// Returns what a run left over: levels not at zero, packets outside pools, credits not back at their sender, waiting requests.
std::vector<std::string> leak_check(hcasim::system& s);

}  // namespace hcasim::kit
