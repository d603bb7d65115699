// From pinned memory to what the adapter is told. `pin` has merged adjacent frames into runs; regions are described by chunks
// (runs, split where they are longer than the device takes), queues by a list of uniform pages.   [E3, E5]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "firmware/abi/command.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/units.h"

namespace hcasim::driver {

inline constexpr unsigned host_page_shift = 12;
inline constexpr std::uint64_t host_page = 1ULL << host_page_shift;

// Pages that [address, address + bytes) touches.
inline std::uint64_t pages_of(std::uint64_t address, std::uint64_t bytes) {
  return bytes == 0 ? 0 : ((address + bytes - 1) >> host_page_shift) - (address >> host_page_shift) + 1;
}

// Appends the runs; a run that continues the last chunk is merged into it, as far as `max_segment` (a multiple of 4 KiB)
// allows.
void append_chunks(std::span<const virtual_memory::frame_run> runs, std::uint64_t max_segment, std::vector<hca_chunk>& out);

// The largest page size of `shifts` (bit s: 2^s) that tiles the runs: every run but the first starts, and every run but the
// last ends, on such a boundary; the first starts on one, too. Never larger than all runs together.
unsigned uniform_shift(std::span<const virtual_memory::frame_run> runs, std::uint32_t shifts);

// Addresses of the pages of 2^shift bytes that tile the runs.
std::vector<std::uint64_t> uniform_pages(std::span<const virtual_memory::frame_run> runs, unsigned shift);

}  // namespace hcasim::driver
