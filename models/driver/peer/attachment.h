// A region over memory of another device: its hold on the memory, and its key, which others may take away at any time.
#pragma once

#include <memory>
#include <vector>

#include "firmware/abi/command.h"
#include "models/driver/peer/peer_core.h"

namespace hcasim::driver {
struct process;
struct memory_region;
}  // namespace hcasim::driver

namespace hcasim::driver::peer {

struct attachment {
  umem* memory = nullptr;
  std::uint32_t key = 0;
  bool gone = false;     // the key is no longer this region's
  sleep_mutex changing;  // of the key
};

// Attaches the clients' memory at [addr, addr + length) and appends its chunks to `out`. Returns 0 or an errno value;
// `pin_error` = no client has the memory.
int attach(cpu& c, process& p, memory_region& mr, int pin_error, std::vector<hca_chunk>& out);
// Activates a region whose key is live. Returns 0, or an errno value: the caller de-registers the region.
int activate(cpu& c, process& p, memory_region& mr);
// Ends a key; returns 0 or an errno value. The region stays unchanged.
int deregister_key(cpu& c, process& p, attachment& a);
// Detaches a region whose key is gone, or never was.
void detach(cpu& c, process& p, memory_region& mr);

// Detaches a region over a dma-buf.
void detach_dma_buf(cpu& c, memory_region& mr);

// Serves a page fault of the adapter in a region over a dma-buf.
void dma_buf_fault(process& p, memory_region& mr);

// Ends a key at once: no access reaches the region through it any more.
int revoke_key(cpu& c, process& p, attachment& a);

}  // namespace hcasim::driver::peer
