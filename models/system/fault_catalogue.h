// Every place of a system where something can fail, and how. Those that a description leaves out (an ATC), or that it makes as
// RTL, are not there in its system.
#pragma once

#include <span>

#include "tlm/base/faults.h"

namespace hcasim {

[[nodiscard]] std::span<const fault_place> fault_catalogue();

}  // namespace hcasim
