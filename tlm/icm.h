// From the command unit to the DMA engine: where entries of ICM lie, so that what comes from there is checked.
//
// Entries of `kind` lie in [base, base + bytes); none do when bytes is 0. Kind `none`: the map of ICM lies at `base`; 0 = there
// is no map. Answered at once, and takes no time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/socket.h"

namespace hcasim {

enum class icm_entry : std::uint8_t { qpc, cqc, mrc, extent, pte, none };
inline constexpr std::size_t icm_entries = 5;  // kinds of entries
inline constexpr const char* icm_entry_names[icm_entries] = {"qpc", "cqc", "mrc", "extent", "pte"};

struct icm_area : transaction {
  icm_entry kind = icm_entry::none;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

}  // namespace hcasim
