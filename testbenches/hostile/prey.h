// A QP of the victim that the hostile peer is, was or will be the peer of: what the peer knows of it, and what the victim has
// allowed it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "tlm/packet.h"

namespace hcasim::kit {

struct prey {
  std::uint32_t qpn = 0;   // 0: there is none
  std::uint32_t here = 0;  // its peer's, another one in each life; 0: it has none
  ibv_qp_type type = IBV_QPT_RC;
  bool granted = true;         // it is of the PD of the grants
  std::uint32_t expected = 0;  // PSN of the next request, as far as the answers tell
  std::uint32_t left = 0;      // bytes of the message under way
  bool writing = false;
  bool broken = false;  // it has refused something, and is in error

  // A packet that has reached its requester or responder.
  struct arrival {
    packet_header header;
    std::vector<std::byte> payload;
    ps at;
    std::uint32_t life;  // `here`
    ibv_qp_type type;
    std::uint64_t caused = 0;  // bits: which of its first responses have left
  };
  std::deque<arrival> came;
  std::deque<arrival> firsts;         // packets of WRITEs, without payload: the others may come much later
  std::deque<packet_header> asked;    // its own requests, the last ones
  std::deque<packet_header> fetches;  // and READs and atomics
  std::deque<packet_header> due;      // of these, not answered yet
  std::uint32_t due_index = 0;

  // Whose peer it was, and with which rights.
  struct terms {
    std::uint32_t life;
    unsigned access;
    ps from;
    ps until;
  };
  std::deque<terms> agreed;
  region inbox;  // where its READs may go
  // Receives that are posted, and not polled yet.
  struct receive {
    std::uint64_t id;
    std::uint64_t va;
    std::uint64_t bytes;
  };
  std::deque<receive> receives;

  // What READs and atomics have shown in this life, by the PSN of the answer: the rest, from there on, of one of these.
  struct place {
    std::uint8_t opcode;
    std::uint32_t key;
    std::uint64_t va;
    std::uint64_t end;
    [[nodiscard]] bool has(const place& x) const { return opcode == x.opcode && key == x.key && va == x.va && end >= x.end; }
  };
  std::map<std::uint32_t, std::vector<place>> shown;
  std::deque<std::uint32_t> shown_in_order;
  std::uint32_t answered = 0;  // the newest PSN
  bool refused = false;        // a request, so that nothing more is answered in this life
  std::uint32_t nudges = 0;    // packets that had better come soon: its rights have changed

  void begin(std::uint32_t number, std::uint32_t peer, std::uint32_t psn) {
    qpn = number;
    here = peer;
    expected = psn;
    answered = psn_add(psn, wire::psn_mask);
    left = 0;
    broken = false;
    asked.clear();
    fetches.clear();
    due.clear();
    due_index = 0;
    shown.clear();
    shown_in_order.clear();
    refused = false;
  }
  void agree(unsigned access, ps from) {
    if (agreed.size() == 32) agreed.pop_front();
    agreed.push_back({here, access, from, never});
  }
  [[nodiscard]] bool connected() const { return here != 0 && !agreed.empty() && agreed.back().until == never; }
  [[nodiscard]] unsigned access() const { return connected() ? agreed.back().access : 0; }
  // All that is agreed but the `newest`, and those when nothing is to be left.
  void end_terms(std::size_t newest, ps at) {
    for (std::size_t i = 0; i + newest < agreed.size(); ++i) agreed[i].until = std::min(agreed[i].until, at);
  }
};

}  // namespace hcasim::kit
