// Pinning user memory for the adapter, with its costs.
#pragma once

#include <vector>

#include "models/driver/objects/objects.h"

namespace hcasim::driver {

// Pins [at, at + bytes) and appends its chunks to `out`; returns 0, EFAULT or ENOMEM. bytes 0: nothing to do. With an IOMMU the
// chunks are DMA addresses. `dma` is the address of the first page; the unpinning of a part gives the part's own.
int pin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
              std::uint64_t& dma);
void unpin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma);
// Maps memory that no process maps, by its physical address, as pin_range: nothing is looked up or pinned.
int map_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
                 std::uint64_t& dma);
void unmap_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma);
void spend_unpinning(cpu& c, const process& p, std::uint64_t pages);
// Returns whether the memory can be kept from child processes: every page must be mapped.
bool can_protect_from_fork(const process& p, std::uint64_t at, std::uint64_t bytes);

}  // namespace hcasim::driver
