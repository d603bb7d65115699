// On-chip memories of the requester.
#pragma once

#include "models/adapter/requester/requester_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `mtu`: payload of a packet at most, in bytes.
inline void memories(const requester_config& c, std::uint64_t mtu, memory_list& m) {
  m.add("buffers", memory_kind::data, c.buffers, bits_of(mtu), "payload under way from memory to the port");
}

}  // namespace hcasim
