// Fakes of the fabric's tests: packets with a serial number, and a device that receives them.
#pragma once

#include <vector>

#include "models/machine/fabric/link_config.h"
#include "tlm/base/ring.h"
#include "tlm/packet.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

constexpr std::uint32_t send_overhead = 8 + 12 + 4 + 2;  // LRH, BTH, ICRC, VCRC

inline link_config plain_link(ps propagation, double gbps = 100, std::uint64_t buffer = 0) {
  link_config c;
  c.rate = bit_rate{gbps * 1e9};
  c.propagation = propagation;
  c.buffer = buffer;
  return c;
}

inline packet& make_packet(packet_pool& packets, std::uint32_t psn, std::uint32_t payload, std::uint8_t sl = 0,
                           std::uint16_t dest = 2) {
  packet& p = packets.get();
  p.header = {};
  p.header.opcode = wire::rc | wire::send_only;
  p.header.service_level = p.header.virtual_lane = sl;
  p.header.dest_lid = dest;
  p.header.source_lid = 1;
  p.header.psn = psn;
  p.payload = payload;
  p.last_bit = ps(0);
  p.waiter = {};
  p.on_response = nullptr;
  for (std::uint32_t i = 0; i < payload; ++i) p.data()[i] = static_cast<std::byte>(psn + i);
  encode(p);
  return p;
}

// Takes packets in, and frees a packet's buffer `latency` later, in the call or with a later answer; or when the test says so.
class device : public unit {
 public:
  initiator_socket<packet> out{"out"};
  target_socket<packet> in{"in"};

  enum class answer { at_once, later, on_demand };
  answer mode = answer::at_once;
  ps latency{0};
  // With on_demand: only packets of this lane are kept, others are answered at once. 16: all.
  unsigned kept_lane = 16;

  struct arrival {
    std::uint32_t psn;
    unsigned lane;
    ps at;
    ps last_bit;
    bool intact;
  };
  std::vector<arrival> arrivals;
  ring<packet*> kept;
  std::vector<ps> taken;  // when the packets sent were taken

  device(const sc_core::sc_module_name& n, packet_pool& packets) : unit(n), packets_(packets) { in.on<&device::receive>(this); }

  // Sends at `at`; several at one time go in the order of the calls.
  void send(packet& p, ps at) {
    outgoing_.push_back({this, &p});
    queue_.at(at, {[](void* c) { static_cast<job*>(c)->self->go(*static_cast<job*>(c)->p); }, &outgoing_.back()});
  }
  // Frees the buffer of the packet kept longest.
  void free_one(ps at) {
    queue_.at(at, {[](void* c) { static_cast<device*>(c)->answer_oldest(); }, this});
  }

 private:
  struct job {
    device* self;
    packet* p;
  };
  void go(packet& p) {
    p.context = this;
    p.on_response = [](void* self, transaction&, ps t) { static_cast<device*>(self)->taken.push_back(t); };
    ps t = now();
    if (out.send_ahead(p, t) == tlm::TLM_COMPLETED) taken.push_back(t);
  }
  tlm::tlm_sync_enum receive(packet& p, tlm::tlm_phase, ps& t) {
    const unsigned lane = p.lane();
    arrivals.push_back({p.header.psn, lane, t, p.last_bit, icrc_ok(p, p.on_wire().size())});
    if (mode == answer::on_demand && (kept_lane == 16 || kept_lane == lane)) {
      kept.push(&p);
      return tlm::TLM_ACCEPTED;
    }
    if (mode == answer::later) {
      kept.push(&p);
      free_one(t + latency);
      return tlm::TLM_ACCEPTED;
    }
    t += latency;
    packets_.put(p);
    return tlm::TLM_COMPLETED;
  }
  void answer_oldest() {
    packet& p = *kept.pop();
    target_socket<packet>::respond(p, now());
    packets_.put(p);
  }

  packet_pool& packets_;
  std::deque<job> outgoing_;
};

}  // namespace hcasim::testing
