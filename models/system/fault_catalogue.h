// Every place of a system where something can fail, and how. Places that a description leaves out (an ATC), or makes as RTL,
// are absent from its system.
#pragma once

#include <span>

#include "tlm/base/faults.h"

namespace hcasim {

[[nodiscard]] std::span<const fault_place> fault_catalogue();

}  // namespace hcasim
