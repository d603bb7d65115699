// Knobs of one switch.
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"

namespace hcasim {

enum class forwarding : std::uint8_t { cut_through, store_and_forward };

struct switch_config {
  forwarding mode = forwarding::cut_through;
  ps latency = 100_ns;
  std::uint32_t virtual_lanes = 1;
  std::uint64_t queue = 64_KiB;

  void knobs(knob_visitor& k) {
    k.choice("mode", mode, {"cut_through", "store_and_forward"},
             "pass a packet on when its head or when its last byte is there");
    k.time("latency", latency, 0_ps, 100_us, "from the byte that `mode` waits for to the first byte on an idle output");
    k.count("virtual_lanes", virtual_lanes, 1, 15, "data virtual lanes; a packet takes lane SL mod virtual_lanes");
    k.bytes("queue", queue, 0, 1 << 30, "output queue of each port and lane; 0: no limit");
  }
};

}  // namespace hcasim
