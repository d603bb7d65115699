// The rules of firmware/abi/sound.h by kind of entry.
#pragma once

#include <cstddef>
#include <span>

#include "tlm/icm.h"

namespace hcasim {

// Whether these bytes, if they are one whole entry of the kind, can be one; page-table entries are judged one by one. Extents
// and elements share an area and have no rule of their own: the MRC says which of them a line holds. `mtu_shift`: of the
// largest packets that the port sends. A context that asks for larger ones is damaged.
[[nodiscard]] bool is_sound(icm_entry kind, std::span<const std::byte> bytes, unsigned mtu_shift);

}  // namespace hcasim
