// Multicast: each QP of the group here gets a copy of the packet, judged as any datagram [H5]. Groups are looked up one after
// the other, so their packets reach the QPs in order.
#pragma once

#include <array>

#include "firmware/abi/context.h"
#include "models/adapter/responder/held_packets.h"
#include "models/adapter/responder/packet_engine.h"
#include "models/adapter/responder/responder_statistics.h"
#include "tlm/base/process.h"
#include "tlm/base/served_queue.h"
#include "tlm/context.h"

namespace hcasim {

class multicast_groups {
 public:
  multicast_groups(initiator_socket<context_request>& qpc, packet_engine& engine, held_packets& held,
                   responder_counters& counters)
      : qpc_(qpc), engine_(engine), held_(held), counters_(counters) {}

  // Names the first group of a hash; 0 = there is none.
  void set_first(std::size_t hash, std::uint32_t number) { first_.at(hash) = number; }
  // Hands a copy of the packet to each member, through the engine and to the holder of the packet.
  void take(packet& p) {
    if (inbox_.push(p)) serve();
  }

 private:
  process serve();
  task<bool> find(const packet& p, hca_group& g, ps& t);
  void replicate(packet& p, const hca_group& g);

  initiator_socket<context_request>& qpc_;
  packet_engine& engine_;
  held_packets& held_;
  responder_counters& counters_;
  std::array<std::uint32_t, HCA_GROUP_HASHES> first_{};
  served_queue<packet> inbox_;
};

}  // namespace hcasim
