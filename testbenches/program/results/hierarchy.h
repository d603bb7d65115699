// The units of the elaborated model, in the order of the SystemC hierarchy.
#pragma once

#include <string>
#include <vector>

#include "tlm/base/unit.h"

namespace hcasim {

std::vector<unit*> all_units();

}  // namespace hcasim
