// On-chip memories of one adapter, unit by unit.
#pragma once

#include "models/adapter/hca/hca_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `lanes` and `receive_buffer` are of the link at the port.
void memories(const hca_config& c, std::uint64_t lanes, std::uint64_t receive_buffer, memory_list& m);

}  // namespace hcasim
