#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct requester_config {
  double message_interval = 4;
  double packet_interval = 3;
  double packet_latency = 20;
  double response_latency = 12;
  std::uint32_t buffers = 256;
  std::uint32_t window = 256;
  std::uint32_t ack_every = 32;

  void knobs(knob_visitor& k) {
    k.cycles("message_interval", message_interval, 1, 1000, "between the starts of two messages");
    k.cycles("packet_interval", packet_interval, 1, 1000, "between the starts of two packets");
    k.cycles("packet_latency", packet_latency, 0, 1000, "from a packet's start to its payload request");
    k.cycles("response_latency", response_latency, 0, 1000, "to process an acknowledge or a response packet");
    k.count("buffers", buffers, 1, 65536, "packet buffers for payload under way from memory to the port");
    k.count("window", window, 1, 1 << 20, "packets of one QP that may be unacknowledged");
    k.count("ack_every", ack_every, 1, 65536, "packets of a long message between two acknowledge requests");
  }
};

}  // namespace hcasim
