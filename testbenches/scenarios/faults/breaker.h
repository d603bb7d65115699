// Finds what of a system can fail, by the name of its place and of the fault.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "tlm/base/faults.h"

namespace hcasim::faults {

struct weakness {
  std::string place;  // "node0.pcie"
  faulty* unit = nullptr;
  std::size_t kind = 0;

  [[nodiscard]] const fault_kind& what() const { return unit->fault_kinds()[kind]; }
};

// Every device of the system has a life: what fails next begins nothing that is under way already.
bool all_up(hcasim::system& s);

// Returns the weaknesses of all units, in the order of the hierarchy.
std::vector<weakness> weaknesses(hcasim::system& s);

}  // namespace hcasim::faults
