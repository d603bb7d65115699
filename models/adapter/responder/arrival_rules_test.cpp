#include "models/adapter/responder/arrival_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace hcasim {
namespace {

using enum request_answer;

std::vector<request_arrival> all_arrivals() {
  std::vector<request_arrival> all;
  for (const bool started : {false, true}) {
    for (const bool from_peer : {false, true}) {
      for (std::uint8_t state = HCA_QP_RESET; state <= HCA_QP_ERR; ++state) {
        for (const std::uint8_t transport : {HCA_TRANSPORT_RC, HCA_TRANSPORT_UC, HCA_TRANSPORT_UD, HCA_TRANSPORT_SRQ,
                                             HCA_TRANSPORT_XRC_INI, HCA_TRANSPORT_XRC_TGT, HCA_TRANSPORT_GROUP}) {
          for (unsigned op = 0; op < 256; ++op) {
            const wire::shape& s = wire::shape_of(static_cast<std::uint8_t>(op));
            if (!s.known || s.response) continue;
            for (const std::uint8_t inbound : {std::uint8_t{HCA_INBOUND_NONE}, wire::send_first, wire::write_first}) {
              for (unsigned psn = 0; psn <= static_cast<unsigned>(psn_class::noticed); ++psn) {
                all.push_back({started, from_peer, state, transport, static_cast<std::uint8_t>(op), inbound,
                               static_cast<psn_class>(psn)});
              }
            }
          }
        }
      }
    }
  }
  return all;
}

bool executes(request_answer a) {
  return a == execute || a == begin;
}

// The statements of the specification about all cells of a kind, each checked on its own.
TEST(arrival_rules, every_arrival_obeys_the_specification) {
  std::size_t heard = 0;
  for (const request_arrival& a : all_arrivals()) {
    const request_answer r = answer_to(a);
    const bool hears = a.started && receives(a.state) && of_transport(a.opcode, a.transport);
    const bool reliable = hca_transport_reliable(a.transport) != 0;
    const bool expected = a.psn == psn_class::expected;
    const bool fits = in_sequence(a.inbound, a.opcode);
    EXPECT_EQ(r == drop, !hears);
    EXPECT_EQ(r == drop_foreign, hears && !a.from_peer);
    if (!hears || !a.from_peer) continue;
    ++heard;
    // RC alone answers, and RC alone fails for a packet out of turn.
    EXPECT_TRUE(reliable || executes(r) || r == skip);
    // RC executes the expected PSN exactly when it fits the message; any other packet with this PSN is an error.
    if (reliable) {
      EXPECT_EQ(r == execute, expected && fits);
      EXPECT_EQ(r == refuse, expected && !fits);
      EXPECT_NE(r, begin);
      EXPECT_NE(r, skip);
    }
    // One NAK for a gap.
    EXPECT_EQ(r == ask_again, reliable && a.psn == psn_class::ahead);
    EXPECT_EQ(r == wait, reliable && a.psn == psn_class::noticed);
    // Packets behind: READs and atomics are answered from the record, all others acknowledged.
    const bool behind = reliable && (a.psn == psn_class::older || a.psn == psn_class::executed);
    EXPECT_EQ(r == acknowledge, behind && !is_fetch(a.opcode));
    EXPECT_EQ(r == drop_unknown, behind && is_fetch(a.opcode) && a.psn == psn_class::older);
    EXPECT_EQ(r == repeat_read, behind && kind_bits(a.opcode) == wire::read_request && a.psn == psn_class::executed);
    EXPECT_EQ(r == repeat_atomic, behind && kind_of(a.opcode) == request_kind::atomic && a.psn == psn_class::executed);
    // UC: a message is executed from its first packet to its last without a gap.
    if (a.transport == HCA_TRANSPORT_UC) {
      EXPECT_EQ(r == execute, expected && fits);
      EXPECT_EQ(executes(r), (expected && fits) || wire::shape_of(a.opcode).first);
    }
    EXPECT_TRUE(a.transport != HCA_TRANSPORT_UD || r == execute);
  }
  EXPECT_GT(heard, 1000U);
}

// A packet that is dropped, or answered from the record, leaves the QP unchanged.
TEST(arrival_rules, only_a_packet_in_its_turn_changes_the_context) {
  for (const request_arrival& a : all_arrivals()) {
    const request_answer r = answer_to(a);
    EXPECT_EQ(changes_context(r), executes(r) || r == skip || r == refuse || r == ask_again);
    if (hca_transport_reliable(a.transport) && (a.psn == psn_class::older || a.psn == psn_class::executed)) {
      EXPECT_FALSE(changes_context(r)) << "whatever an old packet is";
    }
  }
}

}  // namespace
}  // namespace hcasim
