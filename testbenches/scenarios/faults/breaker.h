// Finds all possible faults of a system, by place and name.
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

// Returns whether every device of the system is alive, so that the next fault starts a recovery of its own.
bool all_up(hcasim::system& s);

// Returns the weaknesses of all units, in the order of the hierarchy.
std::vector<weakness> weaknesses(hcasim::system& s);

}  // namespace hcasim::faults
