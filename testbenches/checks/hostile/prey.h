// A QP of the victim that the hostile peer is, was or will be the peer of: what the peer knows of it, and what the victim has
// allowed it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "tlm/packet.h"

namespace hcasim::kit {

// Multicast groups whose members the victim's QPs of UD are now and then: some differ in the GID alone, and their hashes do
// not; some in the LID.
inline constexpr std::size_t groups = 3;
inline constexpr std::uint16_t group_lids[groups] = {0xc003, 0xc003, 0xc004};
inline hca_gid group_gid(std::size_t i) {
  hca_gid g{{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff}};
  g.byte[i == 1 ? 15 : 14] = i == 1 ? 31 : 1;
  return g;
}

inline std::uint8_t transport_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? wire::rc : type == IBV_QPT_UC ? wire::uc : type == IBV_QPT_UD ? wire::ud : wire::xrc;
}
// It acknowledges what it hears, or hears acknowledges.
inline bool is_reliable(ibv_qp_type type) {
  return type != IBV_QPT_UC && type != IBV_QPT_UD;
}

// Receives that are posted, and not polled yet.
struct posted_receive {
  std::uint64_t id;
  std::uint64_t va;
  std::uint64_t bytes;
};

// An SRQ of a domain of XRC, in one life.
struct shared_receives {
  static constexpr std::uint32_t any = ~0U;

  std::uint32_t number;  // any: it is being made
  std::size_t domain;
  bool granted;  // it is of the PD of the grants
  ps until = never;
  std::deque<posted_receive> receives;
};

struct prey {
  std::uint32_t qpn = 0;   // 0 = there is none
  std::uint32_t here = 0;  // its peer's, another one in each life; 0 = it has none
  ibv_qp_type type = IBV_QPT_RC;
  bool granted = true;                   // it is of the PD of the grants; of an XRC target its SRQs are
  bool global = false;                   // it sends with a GRH, and hears nothing without
  std::size_t domain = 0;                // of an XRC target
  std::array<std::uint32_t, 2> srqns{};  // of its domain: of the PD of the grants, and of another
  std::uint32_t srqn = 0;                // of the message under way
  std::uint32_t expected = 0;            // PSN of the next request, as far as the answers tell
  std::uint32_t left = 0;                // bytes of the message under way
  bool writing = false;
  bool broken = false;  // it has refused something, and is in error

  // A packet that has reached its requester or responder.
  struct arrival {
    packet_header header;
    std::vector<std::byte> payload;
    std::vector<std::byte> grh;  // as it is on the wire, if it has one
    ps at;
    std::uint32_t life;  // `here`
    ibv_qp_type type;
    global_route route{};
    std::uint64_t caused = 0;  // bits: which of its first responses have left
  };
  std::deque<arrival> came;
  std::deque<arrival> firsts;         // packets of WRITEs, without payload: the others may come much later
  std::deque<packet_header> asked;    // its own requests, the last ones
  std::deque<packet_header> fetches;  // and READs and atomics
  std::deque<packet_header> due;      // of these, not answered yet
  std::uint32_t due_index = 0;

  // The terms of a life: its peer, and its rights.
  struct terms {
    std::uint32_t life;
    unsigned access;
    ps from;
    ps until;
  };
  std::deque<terms> agreed;
  // The groups of which it was a member.
  struct membership {
    std::size_t group;
    ps until;
  };
  std::deque<membership> memberships;
  region inbox;  // where its READs may go
  std::deque<posted_receive> receives;

  // The bytes that READs and atomics have shown in this life, by the PSN of the answer: the rest, from there on, of one of
  // these.
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
  // From the order that makes it one, until the order that ends it has completed.
  void join(std::size_t group) {
    if (memberships.size() == 32) memberships.pop_front();
    memberships.push_back({group, never});
  }
  void part(std::size_t group, ps at) {
    for (membership& m : memberships) {
      if (m.group == group && m.until == never) m.until = at;
    }
  }
  [[nodiscard]] bool connected() const { return here != 0 && !agreed.empty() && agreed.back().until == never; }
  [[nodiscard]] unsigned access() const { return connected() ? agreed.back().access : 0; }
  // All that is agreed but the `newest`, and those when nothing is to be left.
  void end_terms(std::size_t newest, ps at) {
    for (std::size_t i = 0; i + newest < agreed.size(); ++i) agreed[i].until = std::min(agreed[i].until, at);
  }
};

}  // namespace hcasim::kit
