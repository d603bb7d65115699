#include "models/adapter/requester/requester_rules.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

wqe_view message(std::uint8_t opcode, std::uint64_t length) {
  wqe_view w;
  w.control.opcode = opcode;
  w.length = length;
  return w;
}

TEST(requester_rules, a_message_takes_one_psn_per_mtu_and_at_least_one) {
  EXPECT_EQ(psns_of(message(HCA_WQE_WRITE, 0), 10), 1U);
  EXPECT_EQ(psns_of(message(HCA_WQE_WRITE, 1024), 10), 1U);
  EXPECT_EQ(psns_of(message(HCA_WQE_WRITE, 1025), 10), 2U);
  EXPECT_EQ(psns_of(message(HCA_WQE_READ, 4097), 12), 2U);
  EXPECT_EQ(psns_of(message(HCA_WQE_FETCH_ADD, 8), 8), 1U);
  EXPECT_EQ(psns_of(message(HCA_WQE_WRITE, max_message), 8), 1U << 23);
}

// Every message is ONLY, or FIRST MIDDLE* LAST, and carries its immediate or key at the end.
TEST(requester_rules, opcodes_frame_the_message) {
  for (const std::uint8_t op : {HCA_WQE_SEND, HCA_WQE_SEND_IMM, HCA_WQE_SEND_INV, HCA_WQE_WRITE, HCA_WQE_WRITE_IMM}) {
    for (std::uint32_t count = 1; count <= 5; ++count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const wire::shape& s = wire::shape_of(opcode_of(message(op, 0), i, count));
        EXPECT_EQ(s.first, i == 0);
        EXPECT_EQ(s.last, i + 1 == count);
        EXPECT_EQ(s.immediate, s.last && (op == HCA_WQE_SEND_IMM || op == HCA_WQE_WRITE_IMM));
        EXPECT_EQ(s.invalidate, s.last && op == HCA_WQE_SEND_INV);
        EXPECT_EQ(s.reth, s.first && (op == HCA_WQE_WRITE || op == HCA_WQE_WRITE_IMM));
      }
    }
  }
}

TEST(requester_rules, timers_follow_their_codes) {
  EXPECT_EQ(ack_timeout(0), never);
  EXPECT_EQ(ack_timeout(1), ps(8'192'000));
  EXPECT_EQ(ack_timeout(14), ps(4'096'000LL << 14));
  EXPECT_EQ(rnr_delay(1), 10_us);
  EXPECT_EQ(rnr_delay(12), 640_us);
  EXPECT_EQ(rnr_delay(0), ps(655'360'000'000));
  for (unsigned code = 2; code < 32; ++code) EXPECT_GT(rnr_delay(code), rnr_delay(code - 1));
}

TEST(requester_rules, every_syndrome_has_one_meaning) {
  for (unsigned s = 0; s < 256; ++s) {
    const response_meaning m = meaning_of(static_cast<std::uint8_t>(s));
    if (s < 0x20) {
      EXPECT_EQ(m.kind, response_kind::ack) << s;
    }
    if (s >= 0x20 && s < 0x40) {
      EXPECT_EQ(m.kind, response_kind::rnr) << s;
      EXPECT_EQ(m.timer, s & 0x1f);
    }
    if (s >= 0x64) {
      EXPECT_EQ(m.status, HCA_WC_BAD_RESP_ERR) << s;
    }
  }
  EXPECT_EQ(meaning_of(0x60).kind, response_kind::sequence);
  EXPECT_EQ(meaning_of(0x61).status, HCA_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(meaning_of(0x62).status, HCA_WC_REM_ACCESS_ERR);
  EXPECT_EQ(meaning_of(0x63).status, HCA_WC_REM_OP_ERR);
}

}  // namespace
}  // namespace hcasim
