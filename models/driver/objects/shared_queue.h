// The free list of a shared receive queue.
#pragma once

#include "models/driver/objects/objects.h"

namespace hcasim::driver {

// The WQE of `slot` is done: hangs it on behind the free ones.
void free_slot(cpu& c, shared_queue& srq, std::uint16_t slot);

}  // namespace hcasim::driver
