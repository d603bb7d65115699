#include "models/adapter/responder/responder_rules.h"

#include <gtest/gtest.h>

#include "tlm/wqe.h"

namespace hcasim {
namespace {

packet with(std::uint8_t opcode, std::uint32_t payload, std::uint32_t dma_length = 0, std::uint64_t va = 0) {
  packet p;
  p.header.opcode = opcode;
  p.header.dma_length = dma_length;
  p.header.va = va;
  p.payload = payload;
  return p;
}

// In a message only its own MIDDLE and LAST may come; outside only FIRST, ONLY, READ and atomics [D3].
TEST(responder_rules, sequence) {
  for (unsigned op = 0; op < 32; ++op) {
    const auto opcode = static_cast<std::uint8_t>(op);
    const request_kind kind = kind_of(opcode);
    const wire::shape& s = wire::shape_of(opcode);
    const bool request = kind != request_kind::other;
    EXPECT_EQ(in_sequence(HCA_INBOUND_NONE, opcode), request && s.first) << op;
    EXPECT_EQ(in_sequence(wire::send_first, opcode), kind == request_kind::send && !s.first) << op;
    EXPECT_EQ(in_sequence(wire::write_first, opcode), kind == request_kind::write && !s.first) << op;
  }
}

TEST(responder_rules, rights) {
  EXPECT_EQ(right_of(request_kind::send), 0U);
  EXPECT_EQ(right_of(request_kind::write), HCA_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(right_of(request_kind::read), HCA_ACCESS_REMOTE_READ);
  EXPECT_EQ(right_of(request_kind::atomic), HCA_ACCESS_REMOTE_ATOMIC);
}

TEST(responder_rules, lengths) {
  EXPECT_TRUE(length_ok(with(wire::send_first, 1024), 10, 0));
  EXPECT_FALSE(length_ok(with(wire::send_first, 1023), 10, 0));
  EXPECT_FALSE(length_ok(with(wire::send_middle, 1025), 10, 0));
  EXPECT_FALSE(length_ok(with(wire::send_last, 0), 10, 0));
  EXPECT_TRUE(length_ok(with(wire::send_last, 1), 10, 0));
  EXPECT_TRUE(length_ok(with(wire::send_only, 0), 10, 0));
  EXPECT_FALSE(length_ok(with(wire::send_only, 1025), 10, 0));

  EXPECT_TRUE(length_ok(with(wire::write_only, 5, 5), 10, 5));
  EXPECT_FALSE(length_ok(with(wire::write_only, 5, 6), 10, 6));
  EXPECT_TRUE(length_ok(with(wire::write_first, 1024, 1025), 10, 1025));
  EXPECT_FALSE(length_ok(with(wire::write_first, 1024, 1024), 10, 1024));
  EXPECT_FALSE(length_ok(with(wire::write_first, 1024, 0x80000001), 10, 0x80000001));
  EXPECT_FALSE(length_ok(with(wire::write_middle, 1024), 10, 1024));
  EXPECT_TRUE(length_ok(with(wire::write_last, 7), 10, 7));
  EXPECT_FALSE(length_ok(with(wire::write_last, 7), 10, 8));

  EXPECT_TRUE(length_ok(with(wire::read_request, 0, static_cast<std::uint32_t>(max_message)), 10, 0));
  EXPECT_FALSE(length_ok(with(wire::read_request, 0, static_cast<std::uint32_t>(max_message) + 1), 10, 0));
  for (std::uint64_t va = 0; va < 16; ++va) EXPECT_EQ(atomic_aligned(with(wire::fetch_add, 0, 0, va).header), va % 8 == 0);
}

TEST(responder_rules, read_responses_frame_the_message) {
  EXPECT_EQ(response_opcode(0, 1), wire::read_only);
  EXPECT_EQ(response_opcode(0, 3), wire::read_first);
  EXPECT_EQ(response_opcode(1, 3), wire::read_middle);
  EXPECT_EQ(response_opcode(2, 3), wire::read_last);
}

TEST(responder_rules, receives_are_taken_at_the_start_of_a_send_and_at_the_end_of_an_immediate_write) {
  EXPECT_TRUE(takes_receive(wire::send_first));
  EXPECT_FALSE(takes_receive(wire::send_last_imm));
  EXPECT_TRUE(takes_receive(wire::send_only_imm));
  EXPECT_FALSE(takes_receive(wire::write_first));
  EXPECT_TRUE(takes_receive(wire::write_last_imm));
  EXPECT_TRUE(takes_receive(wire::write_only_imm));
}

}  // namespace
}  // namespace hcasim
