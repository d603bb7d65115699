// The peer client interface: a device with memory of its own (a peer) lets adapters register this memory. Names and meaning are
// those of <rdma/peer_mem.h>. Differences: the ones of verbs.h, and `mm`, the memory of the calling process, which a kernel has
// in `current`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {
class cpu;
class virtual_memory;
}  // namespace hcasim

namespace hcasim::driver {
class device;
}

namespace hcasim::driver::peer {

// NOLINTBEGIN(readability-identifier-naming): names of the interface
enum { IB_PEER_MEMORY_NAME_MAX = 64, IB_PEER_MEMORY_VER_MAX = 16 };
// NOLINTEND(readability-identifier-naming)

// Pages as the DMA device sees them, in the order of their VAs.
struct sg_entry {
  std::uint64_t dma_address = 0;
  std::uint64_t length = 0;
  bool operator==(const sg_entry&) const = default;
};
using sg_table = std::vector<sg_entry>;

// The thread that registers or de-registers makes every callback; an invalidating thread also makes dma_unmap and put_pages. A
// callback must not take a lock that is held while `invalidate_peer_memory` is called [G5].
struct peer_memory_client {
  char name[IB_PEER_MEMORY_NAME_MAX] = {};
  char version[IB_PEER_MEMORY_VER_MAX] = {};  // last byte not 0: this is a peer_memory_client_ex
  // 1: the whole range is memory of this client; anything else: it is not.
  std::function<int(cpu&, const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void** client_context)> acquire;
  // Pins; 0 or an errno value. After a success the client may invalidate `core_context`.
  std::function<int(cpu&, std::uint64_t addr, std::uint64_t size, bool write, bool force, sg_table& sg, void* client_context,
                    std::uint64_t core_context)>
      get_pages;
  // Fills `sg` with DMA addresses of whole peer pages: all that the range touches. 0 or an errno value; *nmap: entries.
  std::function<int(cpu&, sg_table& sg, void* client_context, const device& dma_device, int dmasync, int* nmap)> dma_map;
  std::function<int(cpu&, sg_table& sg, void* client_context, const device& dma_device)> dma_unmap;
  std::function<void(cpu&, sg_table& sg, void* client_context)> put_pages;
  std::function<std::uint64_t(cpu&, void* client_context)> get_page_size;  // absent: the host's page size
  std::function<void(cpu&, void* client_context)> release;                 // optional
};

// After an invalidation the client unmaps and puts by itself; dma_unmap and put_pages may still be called later.
enum : std::uint32_t { PEER_MEM_INVALIDATE_UNMAPS = 1 << 0 };  // NOLINT(readability-identifier-naming)

struct peer_memory_client_ex : peer_memory_client {
  std::size_t ex_size = sizeof(peer_memory_client_ex);
  std::uint32_t flags = 0;
};

// Called by the client when an allocation goes: after the return no access reaches its memory any more. Returns 0, also for an
// unknown or ended `core_context`; EINVAL: no such client; EDEADLK: called from inside its own registration. EIO: the adapter
// does not answer, so nothing is promised.
using invalidate_peer_memory = std::function<int(cpu&, void* reg_handle, std::uint64_t core_context)>;

}  // namespace hcasim::driver::peer
