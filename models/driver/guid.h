// Names of ports.
#pragma once

#include <cstdint>

namespace hcasim::driver {

// Of the link: every port that no subnet manager has told otherwise.
inline constexpr std::uint64_t gid_prefix = 0xfe80'0000'0000'0000;

// Locally administered; the port's LID makes it one of its own.
constexpr std::uint64_t node_guid(std::uint16_t lid) {
  return 0x0268'6361'0000'0000 | lid;
}

}  // namespace hcasim::driver
