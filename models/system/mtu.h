// The largest packets of a cable.
#pragma once

#include <cstdint>

namespace hcasim {

// Returns the MTU of a port whose cable has receive buffers of `buffer` bytes for each lane; 0 = no limit. A packet goes when
// the other side has room for all of it [IBA: MTU of a port]. Throws std::invalid_argument if no packet of 256 B fits.
std::uint64_t mtu_within(std::uint64_t mtu, std::uint64_t buffer);

}  // namespace hcasim
