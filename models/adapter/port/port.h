// A port of the adapter: packets of requester and responder to the link, packets of the link to requester and responder.
//
// A packet to a multicast LID goes to the link, and a copy turns around inside the port, for the groups of this adapter. Should
// the packet come back from the link, it is dropped.
//
// Egress: the sender has encoded the packet (ICRC included) and is answered when the port has taken it. The answer comes at
// once while fewer than `egress_packets` of its lane wait for the link, otherwise later, senders in turns. A packet to the
// port's own LID turns around inside the port. `packet::departed` is done when the last byte has left, or the packet has turned
// around.
//
// Ingress: a packet whose ICRC or headers are wrong, or for another LID, GID or partition, is dropped and returned to the pool.
// Multicast is UD to QP 0xffffff with a GRH. Others go to the requester (responses) or to the responder. The consumer answers
// at once (TLM_COMPLETED), or later and holds the receive buffer meanwhile (TLM_ACCEPTED). Only then is the link answered,
// which gives the credits back.
//
// Without power a port drops leaving packets, also to its own LID. Its link drops arriving ones.
//
// Ownership of packets: the sender's until the answer, the receiver's from then on. The consumer returns a packet to the pool
// after its answer, or before it returns TLM_COMPLETED. After the answer no other unit looks at the packet.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "models/adapter/port/port_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/pool_use.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/packet.h"

namespace hcasim {

class port : public unit {
 public:
  std::deque<target_socket<packet>> egress;  // one for each sender
  target_socket<packet> link_in{"link_in"};
  initiator_socket<packet> requester{"requester"};
  initiator_socket<packet> responder{"responder"};
  initiator_socket<packet> link_out{"link_out"};

  // `number`: of the port, from 0.
  port(const sc_core::sc_module_name& name, const port_config& config, unsigned number, const clock_domain& clock,
       unsigned senders, packet_pool& packets);

  void list_waiting(waiting_list& list) const override;
  // Tells whether the adapter has power.
  void power(bool on);
  // Sets the listener for the power, at the link.
  void on_power(std::function<void(bool on)> told) { on_power_ = std::move(told); }

 private:
  enum class drop : std::uint8_t { none, icrc, malformed, wrong_lid, bad_pkey, wrong_gid };
  struct waiting {
    packet* p = nullptr;
    ps since{0};
  };
  struct sender {
    port* self = nullptr;
    unsigned index = 0;
    tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase, ps& t) { return self->send(index, p, t); }
  };
  // The packets of a lane in the port: until their last byte has left (`leaving`), or until this time is known.
  struct lane {
    port* self = nullptr;
    ring<ps> leaving;
    std::size_t unanswered = 0;
    std::vector<ring<waiting>> queues;  // one for each sender
    std::size_t waiting_packets = 0;
    unsigned turn = 0;
    ps armed = never;
  };
  // A packet that a consumer has not answered, and the way to its sender.
  struct held {
    port* self = nullptr;
    packet* p = nullptr;
    transaction upstream;
    ps since = never;        // the consumer was handed it
    lane* looped = nullptr;  // the egress lane of a packet that turned around
    bool copied = false;     // a copy of a packet to the link: no sender waits for it
  };
  // A packet on its way through the port, to the link or to a consumer of the same adapter.
  struct passing {
    port* self = nullptr;
    packet* p = nullptr;
    lane* from = nullptr;
    action departed;
  };

  tlm::tlm_sync_enum send(unsigned from, packet& p, ps& t);
  [[nodiscard]] std::size_t occupancy(lane& l) const;
  void take(lane& l, packet& p);
  void launch(passing& r);
  void lose(passing& r);
  void turn_around(const packet& p, ps t);
  void gone(passing& r, ps t);
  void sent(lane& l, ps t);
  void leave_at(lane& l, ps t);
  void admit(lane& l);
  void admit_later(lane& l);

  tlm::tlm_sync_enum receive(packet& p, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] drop check(packet& p, bool from_link) const;
  [[nodiscard]] bool is_for_us(const packet& p) const;
  tlm::tlm_sync_enum deliver(packet& p, ps& t, lane* looped, bool copied = false);
  void hand_over(held& h);
  void consumed(held& h, ps t);
  void describe();

  const port_config config_;
  const unsigned number_;
  const std::uint32_t lid_;
  const clock_domain clock_;
  const hca_gid gid_;
  packet_pool& packets_;
  bool dark_ = false;  // without power
  std::function<void(bool)> on_power_;
  std::deque<sender> senders_;
  std::vector<lane> lanes_;
  server egress_pipe_, ingress_pipe_;
  pool_use egress_use_;
  pool<held> held_;
  pool<passing> passing_;

  counter egress_packets_, egress_bytes_, egress_waits_, loopback_packets_;
  counter ingress_packets_, ingress_bytes_, to_requester_, to_responder_;
  counter bad_icrc_, malformed_, wrong_lid_, bad_pkey_, wrong_gid_;
  histogram egress_wait_;
  level held_level_;
  probe egress_opcode_, egress_psn_, egress_waiting_;
  probe ingress_opcode_, ingress_psn_, ingress_qpn_, ingress_held_, drop_cause_;
};

}  // namespace hcasim
