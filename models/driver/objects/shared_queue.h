// The free list of a shared receive queue.
#pragma once

#include "models/driver/objects/objects.h"

namespace hcasim::driver {

// Appends the slot of a finished WQE to the list of free ones.
void free_slot(cpu& c, shared_queue& srq, std::uint16_t slot);

}  // namespace hcasim::driver
