// On-chip memories of the port.
#pragma once

#include "models/adapter/port/port_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `receive_buffer`: bytes of each lane, a knob of the link; 0 = no limit, so no size.
inline void memories(const port_config& c, std::uint64_t lanes, std::uint64_t receive_buffer, memory_list& m) {
  m.add("egress", memory_kind::data, std::uint64_t{c.egress_packets} * c.virtual_lanes, bits_of(c.mtu),
        "payload that waits for the link");
  m.add("receive_buffer", memory_kind::data, receive_buffer * lanes, bits_of(1), "packets from the link, behind its credits");
}

}  // namespace hcasim
