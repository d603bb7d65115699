// An InfiniBand switch: forwards by destination LID to one queue per output and lane, lanes take turns at each output.
//
// A packet is answered to the link it came from when it has moved to an output queue (TLM_COMPLETED, or later while the queue
// is full), which gives the link's credits back. A packet to a LID without a route is dropped: answered, and returned to the
// pool. The switch reads the LRH on the wire and checks no CRC; ownership is as link.h says.
#pragma once

#include <deque>
#include <vector>

#include "models/fabric/switch_config.h"
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

  [[nodiscard]] std::uint64_t dropped() const { return no_route_.value(); }

 private:
  struct queued {
    packet* p = nullptr;
    ps ready{0};    // may start on the output from here on
    ps entered{0};  // the output queue, or the input while that is full
    std::uint32_t bytes = 0;
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

  tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] bool fits(const lane& l, std::uint32_t bytes) const;
  void enqueue(output& o, lane& l, const queued& q);
  void arbitrate(output& o);
  void send(output& o, lane& l);
  void sent(lane& l, ps t);
  void leave(lane& l);
  void admit(lane& l);
  void arm(output& o, ps when);
  void register_statistics(output& o);

  const switch_config config_;
  packet_pool& packets_;
  std::vector<std::uint16_t> routes_;  // by LID
  std::deque<output> outputs_;
  counter forwarded_, no_route_, held_packets_;
  probe dropped_lid_;
};

}  // namespace hcasim
