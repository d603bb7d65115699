// The rules of firmware/abi/sound.h by kind of entry.
#pragma once

#include <cstddef>
#include <span>

#include "tlm/icm.h"

namespace hcasim {

// Returns whether these bytes, if they are one whole entry of the kind, can be valid; page-table entries are judged one by one.
// Extents and elements share an area and have no rule of their own: the MRC says which of the two a line holds. `mtu_shift`:
// log2 of the port's largest packet; a context with a larger MTU is damaged.
[[nodiscard]] bool is_sound(icm_entry kind, std::span<const std::byte> bytes, unsigned mtu_shift);

}  // namespace hcasim
