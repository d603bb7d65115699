// Units of a system that can have faults.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tlm/base/faults.h"
#include "tlm/base/kernel.h"

namespace hcasim {

// Returns the units below `top`, by their names below it ("node0.pcie"), in the order of the hierarchy.
std::vector<std::pair<std::string, faulty*>> faulty_units(const sc_core::sc_object& top);

}  // namespace hcasim
