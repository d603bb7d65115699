// Pinning user memory for the adapter, with its costs.
#pragma once

#include <vector>

#include "models/driver/objects/objects.h"

namespace hcasim::driver {

// Pins [at, at + bytes) and lists it in chunks behind those already in `out`. 0, EFAULT or ENOMEM. bytes 0: nothing to do.
// Behind an IOMMU the chunks are DMA addresses, and `dma` is that of the first page; a part that is unpinned has its own.
int pin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
              std::uint64_t& dma);
void unpin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma);
// The same of memory that no process maps, by its physical address: there is nothing to find and to pin.
int map_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
                 std::uint64_t& dma);
void unmap_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma);
void spend_unpinning(cpu& c, const process& p, std::uint64_t pages);
// Memory given to the adapter is kept from child processes: every page must be mapped.
bool can_protect_from_fork(const process& p, std::uint64_t at, std::uint64_t bytes);

}  // namespace hcasim::driver
