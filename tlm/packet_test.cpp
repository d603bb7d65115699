#include "tlm/packet.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

namespace hcasim {
namespace {

// CRC-32 of Ethernet, bit by bit.
std::uint32_t plain_crc(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool top = ((crc ^ (std::to_integer<unsigned>(b) >> bit)) & 1) != 0;
      crc = crc >> 1 ^ (top ? 0xedb88320U : 0U);
    }
  }
  return ~crc;
}

// The ICRC written down once more, from its definition: lane and congestion bits as ones.
std::uint32_t bitwise_icrc(std::span<const std::byte> covered) {
  std::vector<std::byte> masked(covered.begin(), covered.end());
  masked[0] |= std::byte{0xf0};
  if (masked.size() > 12) masked[12] = std::byte{0xff};
  return plain_crc(masked);
}

std::vector<std::uint8_t> known_opcodes() {
  std::vector<std::uint8_t> ops;
  for (unsigned op = 0; op < 256; ++op) {
    if (wire::shape_of(static_cast<std::uint8_t>(op)).known) ops.push_back(static_cast<std::uint8_t>(op));
  }
  return ops;
}

// Every field that the opcode carries set to something of its own.
packet_header full_header(std::uint8_t opcode) {
  packet_header h;
  h.virtual_lane = 3;
  h.service_level = 11;
  h.dest_lid = 0x1234;
  h.source_lid = 0xabcd;
  h.opcode = opcode;
  h.solicited = true;
  h.ack_request = true;
  h.pkey = 0x8123;
  h.dest_qpn = 0xfedcba;
  h.psn = 0x987654;
  const wire::shape& s = h.shape();
  if (s.reth || s.atomic) {
    h.va = 0x0123456789abcdef;
    h.rkey = 0xdeadbe01;
  }
  if (s.reth) h.dma_length = 0x80000000;
  if (s.atomic) {
    h.swap_add = 0x1122334455667788;
    h.compare = 0x99aabbccddeeff00;
  }
  if (s.aeth) {
    h.syndrome = wire::nak_remote_access;
    h.msn = 0x13579b;
  }
  if (s.atomic_ack) h.original = 0xfedcba9876543210;
  if (s.immediate) h.immediate = 0x04030201;
  if (s.invalidate) h.invalidate_key = 0xcafe0102;
  if (s.datagram) {
    h.qkey = 0x80010000;
    h.source_qpn = 0x00beef;
  }
  return h;
}

void expect_same(const packet_header& a, const packet_header& b) {
  EXPECT_EQ(a.virtual_lane, b.virtual_lane);
  EXPECT_EQ(a.service_level, b.service_level);
  EXPECT_EQ(a.dest_lid, b.dest_lid);
  EXPECT_EQ(a.source_lid, b.source_lid);
  EXPECT_EQ(a.pkey, b.pkey);
  EXPECT_EQ(a.opcode, b.opcode);
  EXPECT_EQ(a.solicited, b.solicited);
  EXPECT_EQ(a.ack_request, b.ack_request);
  EXPECT_EQ(a.pad, b.pad);
  EXPECT_EQ(a.dest_qpn, b.dest_qpn);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.va, b.va);
  EXPECT_EQ(a.rkey, b.rkey);
  EXPECT_EQ(a.dma_length, b.dma_length);
  EXPECT_EQ(a.swap_add, b.swap_add);
  EXPECT_EQ(a.compare, b.compare);
  EXPECT_EQ(a.syndrome, b.syndrome);
  EXPECT_EQ(a.msn, b.msn);
  EXPECT_EQ(a.original, b.original);
  EXPECT_EQ(a.immediate, b.immediate);
  EXPECT_EQ(a.invalidate_key, b.invalidate_key);
  EXPECT_EQ(a.qkey, b.qkey);
  EXPECT_EQ(a.source_qpn, b.source_qpn);
}

void fill(packet& p, std::uint8_t opcode, std::uint32_t payload) {
  p.header = full_header(opcode);
  p.payload = p.header.shape().payload ? payload : 0;
  for (std::uint32_t i = 0; i < p.payload; ++i) p.data()[i] = static_cast<std::byte>(i * 37 + 11);
  encode(p);
}

// Gives the receiver the bytes alone, at the place where they came in.
void receive(packet& to, const packet& from) {
  to.head = from.head;
  std::memcpy(to.raw().data() + to.head, from.on_wire().data(), from.on_wire().size());
}

TEST(Packet, EveryOpcodeAndPayloadLengthComesBack) {
  auto p = std::make_unique<packet>();
  auto q = std::make_unique<packet>();
  for (const std::uint8_t op : known_opcodes()) {
    for (const std::uint32_t payload : {0U, 1U, 2U, 3U, 4U, 5U, 63U, 256U, 1023U, 4095U, 4096U}) {
      SCOPED_TRACE(std::to_string(op) + " with " + std::to_string(payload));
      fill(*p, op, payload);
      const std::size_t total = p->on_wire().size();
      EXPECT_EQ(total % 4, 0U);
      EXPECT_EQ(p->wire_bytes(), total + wire::vcrc_bytes);
      receive(*q, *p);
      ASSERT_TRUE(icrc_ok(*q, total));
      ASSERT_TRUE(parse(*q, total));
      expect_same(q->header, p->header);
      ASSERT_EQ(q->payload, p->payload);
      ASSERT_EQ(std::memcmp(q->data(), p->data(), p->payload), 0);
    }
  }
}

// The lengths of IBA volume 1, chapter 9, written out by hand.
TEST(Packet, HeadersHaveTheLengthsOfTheSpecification) {
  const auto head = [](std::uint8_t op) {
    packet p;
    p.header.opcode = op;
    p.payload = 0;
    encode(p);
    return wire::max_header - p.head;
  };
  EXPECT_EQ(head(wire::send_only), 20U);
  EXPECT_EQ(head(wire::send_only_imm), 24U);
  EXPECT_EQ(head(wire::send_only_inv), 24U);
  EXPECT_EQ(head(wire::write_only), 36U);
  EXPECT_EQ(head(wire::write_only_imm), 40U);
  EXPECT_EQ(head(wire::write_middle), 20U);
  EXPECT_EQ(head(wire::read_request), 36U);
  EXPECT_EQ(head(wire::read_middle), 20U);
  EXPECT_EQ(head(wire::read_last), 24U);
  EXPECT_EQ(head(wire::acknowledge), 24U);
  EXPECT_EQ(head(wire::atomic_acknowledge), 32U);
  EXPECT_EQ(head(wire::compare_swap), 48U);
  EXPECT_EQ(head(wire::ud | wire::send_only), 28U);
  EXPECT_EQ(head(wire::ud | wire::send_only_imm), 32U);
  EXPECT_EQ(head(wire::xrc | wire::send_middle), 24U);
  EXPECT_EQ(head(wire::xrc | wire::write_only_imm), 44U);
  EXPECT_EQ(head(wire::xrc | wire::compare_swap), 52U);
  EXPECT_EQ(head(wire::xrc | wire::acknowledge), 24U) << "a response names no SRQ";
}

TEST(Packet, KnownOpcodesAreThoseOfTheTransports) {
  std::set<unsigned> expected;
  for (unsigned op = 0; op <= 0x14; ++op) expected.insert(op);
  expected.insert({0x16, 0x17});
  for (unsigned op = 0; op <= 0x0b; ++op) expected.insert(wire::uc | op);
  expected.insert({0x64, 0x65});
  for (unsigned op = 0; op <= 0x14; ++op) expected.insert(wire::xrc | op);
  expected.insert({0xb6, 0xb7});
  std::set<unsigned> known;
  for (const std::uint8_t op : known_opcodes()) known.insert(op);
  EXPECT_EQ(known, expected);
}

TEST(Packet, BytesAreWhereTheSpecificationPutsThem) {
  packet p;
  fill(p, wire::write_only, 5);
  const std::array<unsigned, 36> expected{
      0x30, 0xb2, 0x12, 0x34, 0x00, 0x0c, 0xab, 0xcd,                          // LRH: 36 + 5 + 3 + 4 bytes are 12 words
      0x0a, 0xf0, 0x81, 0x23, 0x00, 0xfe, 0xdc, 0xba, 0x80, 0x98, 0x76, 0x54,  // BTH: solicited, migrated, pad 3
      0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xde, 0xad, 0xbe, 0x01, 0x80, 0x00, 0x00, 0x00};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(p.on_wire()[i]), expected[i]) << i;
}

void make_global(packet& p) {
  p.header.global = true;
  p.grh = {.source = hca_port_gid(0x0102), .dest = hca_port_gid(0x0304), .flow = 0x5abcdef, .hop_limit = 63};
  encode(p);
}

// RoCE has the same header as IPv6's; its field order is that of RFC 8200.
TEST(Packet, AGlobalRouteHeaderIsWhereTheSpecificationPutsIt) {
  packet p;
  fill(p, wire::xrc | wire::write_only, 5);
  p.header.srqn = 0x00cafe;
  make_global(p);
  const std::array<unsigned, 64> expected{
      0x30, 0xb3, 0x12, 0x34, 0x00, 0x17, 0xab, 0xcd,  // LRH: 92 bytes, a GRH follows
      0x65, 0xab, 0xcd, 0xef, 0x00, 0x2c, 0x1b, 0x3f,  // 44 bytes behind it
      0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x68, 0x63, 0x61, 0x00, 0x00, 0x01, 0x02,  // source
      0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x68, 0x63, 0x61, 0x00, 0x00, 0x03, 0x04,  // destination
      0xaa, 0xf0, 0x81, 0x23, 0x00, 0xfe, 0xdc, 0xba, 0x80, 0x98, 0x76, 0x54,                          // BTH
      0x00, 0x00, 0xca, 0xfe};                                                                         // XRCETH
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(p.on_wire()[i]), expected[i]) << i;
  EXPECT_EQ(p.on_wire().size(), 92U);
  packet back;
  receive(back, p);
  ASSERT_TRUE(parse(back, 92));
  expect_same(p.header, back.header);
  EXPECT_TRUE(back.header.global);
  EXPECT_EQ(back.header.srqn, 0xcafeU);
  EXPECT_TRUE(back.grh.source == p.grh.source);
  EXPECT_TRUE(back.grh.dest == p.grh.dest);
  EXPECT_EQ(back.grh.flow, p.grh.flow);
  EXPECT_EQ(back.grh.hop_limit, p.grh.hop_limit);
}

TEST(Parse, RefusesAGlobalRouteHeaderThatIsNone) {
  packet p;
  const auto refused = [&p](std::size_t at, std::byte change) {
    fill(p, wire::send_only, 4);
    make_global(p);
    p.raw()[p.head + at] ^= change;
    seal(p);
    return !parse(p, p.on_wire().size());
  };
  EXPECT_FALSE(refused(8, std::byte{0x00}));
  EXPECT_TRUE(refused(8, std::byte{0x10}));   // version
  EXPECT_TRUE(refused(13, std::byte{0x04}));  // length
  EXPECT_TRUE(refused(14, std::byte{0x01}));  // next header
  EXPECT_TRUE(refused(1, std::byte{0x01}));   // LNH: there is none
  EXPECT_FALSE(refused(15, std::byte{0x01})) << "hop limit";
}

// Fields that routers may change are not covered; everything else is.
TEST(Icrc, OfAPacketWithAGlobalRouteHeader) {
  packet p;
  for (const std::uint8_t op : {wire::send_only, static_cast<std::uint8_t>(wire::ud | wire::send_only)}) {
    fill(p, op, 20);
    make_global(p);
    const std::span<const std::byte> all = p.on_wire();
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < 4; ++i) stored |= std::to_integer<std::uint32_t>(all[all.size() - 4 + i]) << (8 * i);
    std::vector<std::byte> masked(all.begin(), all.end() - 4);
    std::fill_n(masked.begin(), 8, std::byte{0xff});
    masked[8] |= std::byte{0x0f};
    masked[9] = masked[10] = masked[11] = masked[15] = masked[52] = std::byte{0xff};
    EXPECT_EQ(stored, plain_crc(masked));
    for (std::size_t at = 0; at < all.size() - 4; ++at) {
      const bool variant = at < 8 || (at >= 9 && at < 12) || at == 15 || at == 52;
      fill(p, op, 20);
      make_global(p);
      p.raw()[p.head + at] ^= std::byte{0x10};
      EXPECT_EQ(icrc_ok(p, p.on_wire().size()), variant) << at;
    }
  }
}

TEST(Icrc, MatchesTheBitwiseDefinition) {
  auto p = std::make_unique<packet>();
  for (const std::uint8_t op : known_opcodes()) {
    for (const std::uint32_t payload : {0U, 3U, 777U, 4096U}) {
      fill(*p, op, payload);
      const std::span<const std::byte> all = p->on_wire();
      std::uint32_t stored = 0;
      for (std::size_t i = 0; i < 4; ++i) stored |= std::to_integer<std::uint32_t>(all[all.size() - 4 + i]) << (8 * i);
      ASSERT_EQ(stored, bitwise_icrc(all.first(all.size() - 4))) << int{op};
    }
  }
}

TEST(Icrc, TheBitwiseDefinitionIsEthernetsCrc) {
  const std::string check = "123456789";
  std::vector<std::byte> bytes(check.size());
  std::memcpy(bytes.data(), check.data(), check.size());
  bytes[0] |= std::byte{0xf0};
  // CRC-32 of f1 32 33 34 35 36 37 38 39, computed with zlib.
  EXPECT_EQ(bitwise_icrc(bytes), 0x73333a6eU);
}

TEST(Icrc, EverySingleBitFlipIsFoundExceptTheMaskedOnes) {
  packet p;
  for (const std::uint8_t op : {wire::send_only, wire::write_only_imm, wire::compare_swap, wire::acknowledge}) {
    fill(p, op, 129);
    const std::size_t total = p.on_wire().size();
    for (std::size_t bit = 0; bit < 8 * total; ++bit) {
      const std::size_t at = bit / 8;
      const std::byte mask = static_cast<std::byte>(1U << (bit % 8));
      p.raw()[p.head + at] ^= mask;
      const bool masked = (at == 0 && bit % 8 >= 4) || at == 12;
      ASSERT_EQ(icrc_ok(p, total), masked) << "byte " << at << ", bit " << bit % 8;
      p.raw()[p.head + at] ^= mask;
    }
    ASSERT_TRUE(icrc_ok(p, total));
  }
}

TEST(Icrc, SealRepairsWhatWasChanged) {
  packet p;
  fill(p, wire::send_only, 40);
  p.raw()[wire::max_header + 7] ^= std::byte{1};
  EXPECT_FALSE(icrc_ok(p, p.on_wire().size()));
  seal(p);
  EXPECT_TRUE(icrc_ok(p, p.on_wire().size()));
}

TEST(Parse, RefusesEveryWrongLength) {
  auto p = std::make_unique<packet>();
  for (const std::uint8_t op : known_opcodes()) {
    fill(*p, op, 33);
    const std::size_t right = p->on_wire().size();
    for (std::size_t total = 0; total <= p->raw().size() + 8; ++total) {
      packet_header before = p->header;
      ASSERT_EQ(parse(*p, total), total == right) << int{op} << ' ' << total;
      expect_same(p->header, before);
    }
  }
}

TEST(Parse, RefusesUnknownOpcodes) {
  packet p;
  for (unsigned op = 0; op < 256; ++op) {
    fill(p, wire::send_only, 0);
    p.raw()[p.head + 8] = static_cast<std::byte>(op);
    const wire::shape& s = wire::shape_of(static_cast<std::uint8_t>(op));
    if (!s.known) {
      ASSERT_FALSE(parse(p, p.on_wire().size())) << op;
    }
  }
}

TEST(Parse, RefusesPayloadWhereNoneBelongs) {
  packet p;
  for (const std::uint8_t op : {wire::acknowledge, wire::read_request, wire::atomic_acknowledge, wire::compare_swap}) {
    fill(p, op, 0);
    p.payload = 8;  // longer than the opcode allows, and sealed
    const std::size_t total = p.on_wire().size();
    p.raw()[p.head + 5] = static_cast<std::byte>(total / 4);
    seal(p);
    ASSERT_TRUE(icrc_ok(p, total));
    EXPECT_FALSE(parse(p, total)) << int{op};
  }
}

TEST(Parse, RefusesPadWithoutPayload) {
  packet p;
  fill(p, wire::send_only, 0);
  p.raw()[p.head + 9] |= std::byte{0x10};
  EXPECT_FALSE(parse(p, p.on_wire().size()));
}

TEST(Parse, RefusesOtherVersionsAndNextHeaders) {
  packet p;
  const auto refused = [&p](std::size_t at, std::byte change) {
    fill(p, wire::send_only, 4);
    p.raw()[p.head + at] ^= change;
    seal(p);
    return !parse(p, p.on_wire().size());
  };
  EXPECT_FALSE(refused(0, std::byte{0x00}));
  EXPECT_TRUE(refused(0, std::byte{0x01}));  // link version
  EXPECT_TRUE(refused(1, std::byte{0x01}));  // LNH: GRH follows
  EXPECT_TRUE(refused(1, std::byte{0x02}));  // LNH: raw
  EXPECT_TRUE(refused(9, std::byte{0x01}));  // transport version
}

// Whatever the bytes are: either refused with nothing touched, or read within bounds and written back the same.
TEST(Parse, ArbitraryBytesAreRefusedOrReadWithinBounds) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& noise, std::uint8_t opcode_choice, bool plausible) {
    static packet p;
    static packet again;
    static const std::vector<std::uint8_t> ops = known_opcodes();
    std::vector<std::uint8_t> bytes = noise;
    bytes.resize(std::max<std::size_t>(bytes.size() / 4 * 4, 24) + 8, 0x5a);
    const std::uint8_t op = ops[opcode_choice % ops.size()];
    if (plausible) {
      bytes[0] &= 0xf0;
      bytes[1] = static_cast<std::uint8_t>((bytes[1] & 0xf0) | 2);
      bytes[4] = static_cast<std::uint8_t>(bytes.size() / 4 >> 8);
      bytes[5] = static_cast<std::uint8_t>(bytes.size() / 4);
      bytes[8] = op;
      bytes[9] &= 0xb0;
    }
    packet shape_of_op;
    shape_of_op.header.opcode = op;
    shape_of_op.payload = 0;
    encode(shape_of_op);
    p.head = shape_of_op.head;
    p.header = full_header(wire::acknowledge);
    p.payload = 4242;
    std::memcpy(p.raw().data() + p.head, bytes.data(), bytes.size());
    if (!parse(p, bytes.size())) {
      RC_ASSERT(p.header.psn == full_header(wire::acknowledge).psn);
      RC_ASSERT(p.payload == 4242U);
      return;
    }
    RC_ASSERT(p.payload <= wire::max_payload);
    RC_ASSERT(p.on_wire().size() == bytes.size());
    again.header = p.header;
    again.payload = p.payload;
    std::memcpy(again.data(), p.data(), p.payload);
    encode(again);
    const std::size_t total = again.on_wire().size();
    RC_ASSERT(total == bytes.size());
    RC_ASSERT(icrc_ok(again, total));
    RC_ASSERT(parse(again, total));
    RC_ASSERT(again.header.psn == p.header.psn);
    RC_ASSERT(again.header.dest_lid == p.header.dest_lid);
  }));
}

TEST(Psn, AReadTakesThoseOfItsResponses) {
  EXPECT_EQ(packets_of(0, 10), 1U);
  EXPECT_EQ(packets_of(1024, 10), 1U);
  EXPECT_EQ(packets_of(1025, 10), 2U);
  EXPECT_EQ(packets_of(std::uint64_t{1} << 31, 8), 1U << 23);
  packet_header h;
  h.dma_length = 4096;
  for (unsigned op = 0; op < 256; ++op) {
    h.opcode = static_cast<std::uint8_t>(op);
    EXPECT_EQ(psns_of(h, 10), op == wire::read_request || op == (wire::xrc | wire::read_request) ? 4U : 1U);
  }
}

TEST(Psn, DistanceIsSerialArithmetic) {
  EXPECT_EQ(psn_distance(0, 1), 1);
  EXPECT_EQ(psn_distance(0xffffff, 0), 1);
  EXPECT_EQ(psn_distance(0, 0xffffff), -1);
  EXPECT_EQ(psn_distance(0, 0x7fffff), 0x7fffff);
  EXPECT_EQ(psn_distance(0, 0x800000), -0x800000);
  EXPECT_EQ(psn_add(0xffffff, 2), 1U);
  EXPECT_TRUE(rc::check([](std::uint32_t a) {
    const std::uint32_t psn = a & wire::psn_mask;
    for (const std::int32_t d : {-0x800000, -77, 0, 1, 0x7fffff}) {
      RC_ASSERT(psn_distance(psn, psn_add(psn, static_cast<std::uint32_t>(d))) == d);
    }
  }));
}

}  // namespace
}  // namespace hcasim
