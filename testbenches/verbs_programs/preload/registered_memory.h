// Memory registered with the adapter. The simulator is told before the program unmaps or replaces such memory.
#pragma once

#include <cstdint>

namespace hcasim::preload {

void lend(std::uint64_t address, std::uint64_t length, bool on_demand);
// Tells the simulator that the program is about to unmap or replace memory.
void lose(std::uint64_t address, std::uint64_t length);

}  // namespace hcasim::preload
