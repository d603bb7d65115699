// Packets that no peer sent, put on the wire in front of an adapter's port, and what the adapter sends.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/system/system.h"

namespace hcasim::kit {

class forger {
 public:
  // Of node `victim` in a system without a switch.
  forger(system& s, std::size_t victim);
  ~forger();
  forger(const forger&) = delete;
  forger& operator=(const forger&) = delete;

  // For QP `qpn` of the victim, from the adapter with LID `source`; the rest as the caller wants it.
  [[nodiscard]] packet_header header(std::uint8_t opcode, std::uint32_t qpn, std::uint32_t psn, std::uint16_t source) const;
  // At the port now.
  void put(const packet_header& h, std::uint32_t payload = 0);
  // What `make` makes, one every `apart` from now on until stop().
  void storm(ps apart, std::function<packet_header()> make);
  void stop() { raging_ = false; }

  // Of the victim's responder and requester since the last call.
  std::vector<packet_header> answers() { return std::exchange(answers_.heard, {}); }
  std::vector<packet_header> requests() { return std::exchange(requests_.heard, {}); }

 private:
  struct listener : socket_observer<packet> {
    std::vector<packet_header> heard;
    void forward(const packet& p, tlm::tlm_phase phase, ps) override {
      if (phase == tlm::BEGIN_REQ) heard.push_back(p.header);
    }
    void forward_done(const packet&, tlm::tlm_phase, tlm::tlm_sync_enum, ps) override {}
    void backward(const packet&, tlm::tlm_phase, ps) override {}
  };
  void next();

  system& system_;
  hca& adapter_;
  initiator_socket<packet>& wire_;
  const std::uint16_t lid_;
  event_queue& queue_ = event_queue::instance();
  std::function<packet_header()> make_;
  ps apart_{0};
  bool raging_ = false;
  bool posted_ = false;  // a next one
  listener answers_;
  listener requests_;
};

}  // namespace hcasim::kit
