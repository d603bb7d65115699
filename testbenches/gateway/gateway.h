// A router between the fabric and RoCEv2 outside, where a node would end a link. It stands for every host of an IPv4 network
// that is no simulated node: packets to their LIDs leave as frames, frames to nodes enter as packets, and it answers ARP for
// the nodes.
//
// Packets that leave are paced to `rate`, and wait while there is no room for them outside; meanwhile they hold their buffer,
// and so the link's credits. Frames that enter wait for credits in a queue. What finds no room is lost and counted, as on
// Ethernet; the transport carries it. Bytes from outside are checked in full (wire/frame.h), and packets of the fabric by their
// ICRC, which ends here.
//
// The unit is also what keeps simulated time at the wall clock (pacer.h): it looks outside at every step.
#pragma once

#include <array>
#include <functional>

#include "testbenches/gateway/gateway_config.h"
#include "testbenches/gateway/neighbours.h"
#include "testbenches/gateway/outside.h"
#include "tlm/base/ring.h"
#include "tlm/base/unit.h"
#include "tlm/packet.h"
#include "tlm/roce/frame.h"

namespace hcasim::gateway {

class router : public unit {
 public:
  target_socket<packet> in{"in"};
  initiator_socket<packet> out{"out"};

  router(const sc_core::sc_module_name& name, const gateway_config& config, const network& hosts, unsigned lanes,
         outside& world, packet_pool& packets);

  // Steps from now on, until `turn`, which is asked after each, says no.
  void begin(std::function<bool()> turn);
  void list_waiting(waiting_list& list) const override;

  [[nodiscard]] const pacer& pace() const { return pacer_; }
  // Returns the number of frames of a kind.
  [[nodiscard]] std::uint64_t seen(frame_kind k) const { return frames_[static_cast<std::size_t>(k)].value(); }
  [[nodiscard]] std::uint64_t frames() const;
  [[nodiscard]] std::uint64_t entered() const { return entered_.value(); }
  [[nodiscard]] std::uint64_t left() const { return left_.value(); }
  // For any reason, on the way in and on the way out.
  [[nodiscard]] std::uint64_t lost_in() const;
  [[nodiscard]] std::uint64_t lost_out() const;

 private:
  // Wall-clock time and frames.
  void step();
  void receive(const outside::arrival& a);
  void hear_arp(const parsed& p, outside::remote from);
  void learn(const endpoint& who, outside::remote from);
  void ask_for(ip_address who);
  // From outside into the fabric.
  void enter(const parsed& p, outside::remote from);
  void send_next();
  // From the fabric to the outside.
  tlm::tlm_sync_enum take(packet& p, tlm::tlm_phase phase, ps& t);
  void serve();
  void leave();
  // False = its host has not told its address.
  bool emit(const packet& p);
  void hold(packet& p);
  void release(ip_address who);
  void forget_old();

  const gateway_config config_;
  const network hosts_;
  const unsigned lanes_;
  outside& world_;
  packet_pool& packets_;
  std::function<bool()> turn_;
  pacer pacer_;
  neighbours neighbours_;
  bool busy_ = false;  // since the last step

  ring<packet*> leaving_;
  std::uint64_t leaving_bytes_ = 0;
  ring<packet*> entering_;
  std::uint64_t entering_bytes_ = 0;
  bool sending_ = false;  // the first one waits for the link
  struct held {
    packet* p = nullptr;
    ip_address to = 0;
    ps since{0};
  };
  bool serving_ = false;  // the first one is on its way out
  ring<held> unheard_;    // packets to hosts that have not told their address
  std::array<std::byte, most_frame> frame_;

  std::array<counter, kinds> frames_;
  counter left_, left_bytes_, entered_, entered_bytes_, arp_answers_;
  counter no_host_, unresolved_, damaged_, overflow_out_, refused_;  // on the way out
  counter not_ours_, no_peer_, malformed_, overflow_in_;             // on the way in
  histogram lag_;
  probe entering_packets_, leaving_packets_;
};

}  // namespace hcasim::gateway
