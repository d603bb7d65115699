// Memory that the adapter has been given. When the program unmaps some of it, or puts something else in its place, the
// simulator is told before.
#pragma once

#include <cstdint>

namespace hcasim::preload {

void lend(std::uint64_t address, std::uint64_t length);
// The program changes what these addresses show.
void lose(std::uint64_t address, std::uint64_t length);

}  // namespace hcasim::preload
