// Checks that a run has given everything back, when nothing is under way any more.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"

namespace hcasim::kit {

// Levels that are not at zero, packets that are in no pool, credits that are not back at their sender, requests that wait.
std::vector<std::string> left_over(hcasim::system& s);

}  // namespace hcasim::kit
