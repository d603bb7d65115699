// On-chip memories of the send queue.
#pragma once

#include "models/adapter/send_queue/send_queue_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `log_qps`: log2 of the QPs of the device.
inline void memories(const send_queue_config& c, std::uint64_t log_qps, memory_list& m) {
  constexpr std::uint64_t block = 64;          // bytes
  constexpr std::uint64_t producer_bits = 16;  // of an index into a send queue
  m.add("wqes", memory_kind::data, c.wqe_cache, bits_of(block), "blocks of WQEs that are fetched and not yet complete");
  m.add("wqe_links", memory_kind::state, c.wqe_cache, bits_for(c.wqe_cache), "next block of the same QP");
  m.add("units", memory_kind::state, c.units, log_qps + 2 * producer_bits, "QP, producer and consumer index of each unit");
}

}  // namespace hcasim
