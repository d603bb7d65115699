// Forged packets, put on the wire in front of an adapter's port, and the adapter's packets.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/tap.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {

class packet_injector {
 public:
  // Forges packets for node `victim` in a system without a switch.
  packet_injector(system& s, std::size_t victim);
  ~packet_injector();
  packet_injector(const packet_injector&) = delete;
  packet_injector& operator=(const packet_injector&) = delete;

  // Returns a header for QP `qpn` of the victim, from the adapter with LID `source`; the caller may change the other fields.
  [[nodiscard]] packet_header header(std::uint8_t opcode, std::uint32_t qpn, std::uint32_t psn, std::uint16_t source) const;
  // Returns a packet with its bytes on the wire; a caller that changes bytes may seal the packet again. `mark` tells one
  // payload from others, `way` is the content of a GRH.
  packet& make(const packet_header& h, std::uint32_t payload = 0, std::uint64_t mark = 0, const global_route& way = {});
  // Puts the packet at the victim's port now.
  void put(packet& p);
  void put(const packet_header& h, std::uint32_t payload = 0) { put(make(h, payload)); }
  // Sends the packets of `next`, one every `apart` from now on until stop(); null = none this time.
  void storm(ps apart, std::function<packet*()> next);
  void stop() { raging_ = false; }

  // Returns how many bytes of [bytes) continue the pattern of a payload of `make`.
  static std::uint64_t payload_in(std::span<const std::byte> bytes);

  // Called with each packet of the victim's responder or requester; without a function, packets are kept for the next call.
  std::function<void(const packet&)> on_answer;
  std::function<void(const packet&)> on_request;
  std::vector<packet_header> answers() { return std::exchange(answers_, {}); }
  std::vector<packet_header> requests() { return std::exchange(requests_, {}); }

 private:
  void go_on();

  system& system_;
  initiator_socket<packet>& wire_;
  const std::uint16_t lid_;
  event_queue& queue_ = event_queue::instance();
  std::function<packet*()> next_;
  ps apart_{0};
  bool raging_ = false;
  bool posted_ = false;  // a next one
  std::vector<packet_header> answers_;
  std::vector<packet_header> requests_;
  tap<packet> responder_;
  tap<packet> requester_;
};

// A QP of node 0 whose peer is forged: only forged answers arrive, and no timer runs.
class lone_requester {
 public:
  static constexpr std::uint16_t peer_lid = 2;
  static constexpr address peer{peer_lid, 0x777, 0x10};
  static constexpr std::uint32_t mtu = 1024;

  lone_requester(cpu& thread, node& on, packet_injector& f, std::uint32_t first_psn, bool signal_all = false);

  // Connects the QP, in a new life.
  void connect();
  // Posts a request of `bytes` at the begin of `here`; 0 or errno.
  int ask(ibv_wr_opcode opcode, std::uint32_t bytes);
  // Returns the requests sent until t, since the last call.
  std::vector<packet_header> requests_after(ps t);
  void answer(const packet_header& h, std::uint32_t payload, ps settle);
  std::vector<ibv_wc> completions();

  process_context p;
  cpu& c;
  node& n;
  packet_injector& wire;
  qp_options options;
  region here;
  ibv_qp* qp;
  std::uint64_t asked = 0;
};

// Runs a program on the first of two nodes, with an injector in front of its port. Returns the fault; empty = the program ended
// and left no packet over.
std::string run_forged(const system_config& config, const std::function<void(cpu&, node&, packet_injector&)>& body);

}  // namespace hcasim::kit
