// On-chip memories of the doorbell unit.
#pragma once

#include "firmware/abi/registers.h"
#include "models/adapter/doorbell/doorbell_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `log_queues`: log2 of the queues of a kind.
inline void memories(const doorbell_config& c, std::uint64_t log_queues, memory_list& m) {
  constexpr std::uint64_t line = 64;  // bytes
  constexpr std::uint64_t kinds = 4;  // send, receive, completion, event
  const std::uint64_t number = log_queues + bits_for(kinds);
  m.add("fifo", memory_kind::data, c.fifo_depth, bits_of(sizeof(hca_doorbell::value)), "values of the doorbells that wait");
  m.add("fifo_numbers", c.coalesce ? memory_kind::cam : memory_kind::data, c.fifo_depth, number,
        "their queues; with coalesce, every doorbell is compared with them");
  if (c.blueflame_max != 0)
    m.add("blueflame", memory_kind::data, c.blueflame_buffer, bits_of(line), "lines of WQEs that were written to the adapter");
}

}  // namespace hcasim
