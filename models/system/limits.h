// Limits of a description.
#pragma once

#include <cstdint>

namespace hcasim {

// Nodes of one system: each takes some 2 MiB and 20 ms of the machine (docs/traffic.md).
inline constexpr std::uint32_t most_nodes = 1024;

}  // namespace hcasim
