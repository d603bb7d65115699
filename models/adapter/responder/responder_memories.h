// On-chip memories of the responder.
#pragma once

#include "models/adapter/responder/responder_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `mtu`: payload of a packet at most, in bytes.
inline void memories(const responder_config& c, std::uint64_t mtu, memory_list& m) {
  m.add("buffers", memory_kind::data, c.buffers, bits_of(mtu), "payload of READ responses under way from memory to the port");
}

}  // namespace hcasim
