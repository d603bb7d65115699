// Knobs of the adapter's port.
#pragma once

#include <cstdint>

#include "firmware/abi/route.h"
#include "tlm/base/knobs.h"

namespace hcasim {

// The link layer shown to programs; the wire is InfiniBand either way.
enum class link_layer_kind : std::uint8_t { infiniband, ethernet };

struct port_config {
  std::uint32_t count = 1;
  std::uint32_t lid = 1;
  std::uint32_t second_lid = 0;  // of port 2, when there is one; the system gives it
  link_layer_kind link_layer = link_layer_kind::infiniband;
  std::uint32_t virtual_lanes = 1;
  std::uint64_t mtu = 4096;
  double egress_latency = 20;
  double egress_interval = 1;
  std::uint32_t egress_packets = 8;
  double ingress_latency = 20;
  double ingress_interval = 1;

  void knobs(knob_visitor& k) {
    k.count("count", count, 1, HCA_PORTS,
            "ports of the adapter, each with a link and LID of its own, and with these settings; a QP belongs to one of them");
    k.count("lid", lid, 1, 0xbfff, "the LID of port 1; packets to another one are dropped");
    k.choice("link_layer", link_layer, {"infiniband", "ethernet"},
             "kind of port for programs: InfiniBand, or RoCE with GIDs of both versions");
    k.count("virtual_lanes", virtual_lanes, 1, 15, "data virtual lanes; a packet takes lane SL mod virtual_lanes");
    k.bytes("mtu", mtu, 256, 4096,
            "payload of a packet at most, a power of two; less if link.buffer does not hold such a packet");
    k.cycles("egress_latency", egress_latency, 0, 1e6, "from a packet's hand-over to its first byte on an idle link");
    k.cycles("egress_interval", egress_interval, 0, 1e6, "from one packet taken in to the next");
    k.count("egress_packets", egress_packets, 1, 4096, "packets of each lane that wait in the port for the link");
    k.cycles("ingress_latency", ingress_latency, 0, 1e6, "from a packet's last byte to its hand-over, ICRC check included");
    k.cycles("ingress_interval", ingress_interval, 0, 1e6, "from one packet checked to the next");
  }
};

}  // namespace hcasim
