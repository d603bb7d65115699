// An InfiniBand switch: forwards by destination LID to one queue per output and lane, lanes take turns at each output. A packet
// to a multicast LID goes to all ports with members of its group, except its own input port. Each port has a copy. The packet
// itself is in the input buffer until the last copy has moved to an output queue.
//
// A packet that has moved to an output queue is answered to its link, which gives the link's credits back. The answer comes at
// once (TLM_COMPLETED), or later while the queue is full. A packet to a LID without a route is dropped: answered, and returned
// to the pool. The switch reads the LRH on the wire and checks no CRC; ownership is as link.h says.
#pragma once

#include <deque>
#include <vector>

#include "models/machine/fabric/switch_config.h"
#include "tlm/base/pool.h"
#include "tlm/base/ring.h"
#include "tlm/base/unit.h"
#include "tlm/packet.h"

namespace hcasim {

class link;

class ib_switch : public unit {
 public:
  std::deque<target_socket<packet>> in;      // from the link at port i
  std::deque<initiator_socket<packet>> out;  // to the link at port i

  ib_switch(const sc_core::sc_module_name& name, const switch_config& config, unsigned ports, packet_pool& packets);

  void list_waiting(waiting_list& list) const override;
  // Binds both directions of `port` to end `end` of `l`, and has the link deliver heads when the switch cuts through.
  void attach(unsigned port, link& l, unsigned end);
  void set_route(std::uint16_t lid, unsigned port);
  // Counts one group more, or less, with this multicast LID behind `port`.
  void set_member(std::uint16_t lid, unsigned port, bool joins);

  [[nodiscard]] std::uint64_t dropped() const { return no_route_.value(); }

 private:
  struct input {
    ib_switch* self = nullptr;
    unsigned port = 0;
    tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase phase, ps& t) { return self->take(p, port, phase, t); }
  };
  // A multicast packet that is being replicated.
  struct replication {
    packet* original = nullptr;
    std::uint32_t left = 0;  // copies that are still in the input buffer
  };
  struct queued {
    packet* p = nullptr;
    ps ready{0};    // may start on the output from here on
    ps entered{0};  // into the output queue, or into the input while the queue is full
    std::uint32_t bytes = 0;
    replication* copy_of = nullptr;
  };
  struct output;
  struct lane {
    ib_switch* self = nullptr;
    output* owner = nullptr;
    ring<queued> queue;
    ring<queued> held;  // still in the input buffers, for want of room in `queue`
    std::uint64_t bytes = 0;
    bool blocked = false;  // the link has no credits for the packet at the front
  };
  struct output {
    ib_switch* self = nullptr;
    unsigned port = 0;
    std::vector<lane> lanes;
    unsigned turn = 0;
    ps free_at{0};
    ps armed = never;
    std::uint64_t packets_queued = 0;
    counter packets, bytes;
    level queue_level;
    histogram wait;
    probe occupancy, busy;
  };

  tlm::tlm_sync_enum take(packet& p, unsigned from, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum replicate(packet& p, unsigned from, ps& t);
  tlm::tlm_sync_enum drop(packet& p, std::uint16_t lid, ps t);
  bool forward(output& o, packet& p, ps& t, replication* copy_of);
  void moved(const queued& q);
  [[nodiscard]] bool fits(const lane& l, std::uint32_t bytes) const;
  void enqueue(output& o, lane& l, const queued& q);
  void arbitrate(output& o);
  void send(output& o, lane& l);
  void sent(lane& l, ps t);
  void leave(lane& l);
  void admit(lane& l);
  void arm(output& o, ps when);
  void wake(output& o);
  void describe(output& o);

  const switch_config config_;
  packet_pool& packets_;
  std::vector<std::uint16_t> routes_;                // by LID
  std::vector<std::vector<std::uint32_t>> members_;  // groups by multicast LID and port
  std::deque<input> inputs_;
  std::deque<output> outputs_;
  pool<replication> replications_;
  counter forwarded_, no_route_, held_packets_, replicated_;
  probe dropped_lid_;
};

}  // namespace hcasim
