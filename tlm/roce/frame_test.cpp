#include "tlm/roce/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/roce/crossing.h"

namespace hcasim::gateway {
namespace {

using bytes = std::vector<std::byte>;

bytes written(const roce_route& r, const bytes& transport) {
  std::array<std::byte, most_frame> room;
  const std::size_t n = write_roce(room, r, transport);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n)};
}

const endpoint node{{0x02, 0x68, 0x63, 0x61, 0x00, 0x01}, 0xc0a84d01};
const endpoint guest{{0x02, 0x00, 0x00, 0x00, 0x00, 0x02}, 0xc0a84d02};

mac_address some_mac() {
  return *rc::gen::container<mac_address>(rc::gen::arbitrary<std::uint8_t>());
}
bytes some_bytes(std::size_t n) {
  const auto values = *rc::gen::container<std::vector<std::uint8_t>>(n, rc::gen::arbitrary<std::uint8_t>());
  bytes out(n);
  if (n != 0) std::memcpy(out.data(), values.data(), n);
  return out;
}
roce_route some_route() {
  return {{some_mac(), *rc::gen::arbitrary<ip_address>()},
          {some_mac(), *rc::gen::arbitrary<ip_address>()},
          *rc::gen::arbitrary<std::uint8_t>(),
          *rc::gen::arbitrary<std::uint16_t>()};
}
bytes some_transport() {
  return some_bytes(4 * static_cast<std::size_t>(*rc::gen::inRange(3, 1 + static_cast<int>(most_transport / 4))));
}

RC_GTEST_PROP(Frame, IsReadAsItWasWritten, ()) {
  const roce_route r = some_route();
  const bytes transport = some_transport();
  bytes frame = written(r, transport);
  if (*rc::gen::arbitrary<bool>())
    frame.resize(frame.size() + static_cast<std::size_t>(*rc::gen::inRange(0, 40)));  // filled up
  const parsed p = read_frame(frame);
  RC_ASSERT(p.what == frame_kind::roce);
  RC_ASSERT(p.from.mac == r.from.mac && p.from.ip == r.from.ip);
  RC_ASSERT(p.to.mac == r.to.mac && p.to.ip == r.to.ip);
  RC_ASSERT(p.service == r.service);
  RC_ASSERT(std::equal(p.transport.begin(), p.transport.end(), transport.begin(), transport.end()));
}

bytes of_hex(std::string_view hex) {
  bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// Frames of soft-RoCE of Linux 6.1: a SEND of 50 bytes, twice.
TEST(Frame, OfAnotherImplementationIsIntact) {
  constexpr std::string_view sent[] = {
      "026863610001020000000002080045000060740f40004011ab29c0a84d02c0a84d01c12112b7004c00000420ffff00000011"
      "80e7266c7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b"
      "7b7b7b7b0000a2918a27",
      "026863610001020000000002080045000060741740004011ab21c0a84d02c0a84d01c12112b7004c00000420ffff00000011"
      "80e7266c7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b"
      "7b7b7b7b00000b814997"};
  for (const std::string_view hex : sent) {
    const bytes frame = of_hex(hex);
    const parsed p = read_frame(frame);
    ASSERT_EQ(p.what, frame_kind::roce);
    EXPECT_EQ(p.from.ip, guest.ip);
    EXPECT_EQ(p.from.mac, guest.mac);
    EXPECT_EQ(p.to.ip, node.ip);
    packet in;
    ASSERT_TRUE(to_fabric(in, {.from = 0x8002, .to = 1}, p.transport));
    EXPECT_EQ(in.header.opcode, wire::rc | wire::send_only);
    EXPECT_EQ(in.header.dest_qpn, 0x11U);
    EXPECT_EQ(in.header.psn, 0xe7266cU);
    EXPECT_TRUE(in.header.ack_request);
    ASSERT_EQ(in.payload, 50U);
    for (std::uint32_t i = 0; i < in.payload; ++i) EXPECT_EQ(in.data()[i], std::byte{0x7b});
  }
}

// Every bit behind the Ethernet header is under a checksum, but for the ones that routers may change.
TEST(Frame, NoDamagedBitPasses) {
  bytes transport(64);
  for (std::size_t i = 0; i < transport.size(); ++i) transport[i] = static_cast<std::byte>(37 * i);
  const bytes good = written({guest, node}, transport);
  ASSERT_EQ(read_frame(good).what, frame_kind::roce);
  constexpr std::size_t udp_checksum = ethernet_bytes + ip_bytes + 6;
  constexpr std::size_t congestion = front_bytes + 4;
  for (std::size_t bit = 8 * ethernet_bytes; bit < 8 * good.size(); ++bit) {
    bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const std::size_t at = bit / 8;
    const bool free = at == udp_checksum || at == udp_checksum + 1 || at == congestion;
    EXPECT_EQ(read_frame(bad).what == frame_kind::roce, free) << "byte " << at;
  }
}

TEST(Frame, OfEveryShorterLengthIsCutShort) {
  const bytes good = written({guest, node}, bytes(24));
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(read_frame(std::span(good).first(n)).what, frame_kind::cut_short) << n;
  }
}

void put16(bytes& frame, std::size_t at, unsigned v) {
  frame[at] = static_cast<std::byte>(v >> 8);
  frame[at + 1] = static_cast<std::byte>(v);
}
// Renews the checksum after a change of the IPv4 header.
void mend_checksum(bytes& frame) {
  put16(frame, 24, 0);
  unsigned sum = 0;
  for (std::size_t i = 14; i < 34; i += 2) {
    sum += std::to_integer<unsigned>(frame[i]) << 8 | std::to_integer<unsigned>(frame[i + 1]);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  put16(frame, 24, ~sum);
}

// A corpus of frames that lie about themselves: the false byte, and the reader's name for the fault.
TEST(Frame, EveryFalseFieldIsNamed) {
  struct lie {
    const char* about;
    std::size_t at;
    unsigned value;
    frame_kind what;
  };
  const lie lies[] = {
      {"type", 12, 0x86dd, frame_kind::other},
      {"version", 14, 0x6500, frame_kind::other},
      {"options", 14, 0x4600, frame_kind::other},
      {"total length, too long", 16, 0xffff, frame_kind::cut_short},
      {"total length, less than a header", 16, 19, frame_kind::cut_short},
      {"total length, no UDP header", 16, 27, frame_kind::cut_short},
      {"total length, no BTH", 16, 36, frame_kind::length},
      {"more fragments", 20, 0x2000, frame_kind::fragment},
      {"a later fragment", 20, 0x0001, frame_kind::fragment},
      {"protocol", 22, 0x4006, frame_kind::other},
      {"port", 36, 4792, frame_kind::other},
      {"UDP length", 38, 8, frame_kind::length},
      {"UDP length 0", 38, 0, frame_kind::length},
  };
  const bytes good = written({guest, node}, bytes(24));
  for (const lie& l : lies) {
    bytes bad = good;
    put16(bad, l.at, l.value);
    mend_checksum(bad);
    EXPECT_EQ(read_frame(bad).what, l.what) << l.about << ": " << to_text(read_frame(bad).what);
  }
  // Both lengths agree, and no BTH fits.
  bytes bad = good;
  put16(bad, 16, 20 + 8 + 12);
  put16(bad, 38, 8 + 12);
  mend_checksum(bad);
  EXPECT_EQ(read_frame(bad).what, frame_kind::cut_short);
}

TEST(Frame, OfTimeToLiveAndServiceThatRoutersChangeIsIntact) {
  bytes frame = written({guest, node}, bytes(24));
  frame[15] = std::byte{0x03};
  frame[22] = std::byte{0x3f};
  mend_checksum(frame);
  EXPECT_EQ(read_frame(frame).what, frame_kind::roce);
  EXPECT_EQ(read_frame(frame).service, 3);
}

RC_GTEST_PROP(Frame, OfAnyBytesIsRead, ()) {
  bytes frame = some_bytes(static_cast<std::size_t>(*rc::gen::inRange(0, 200)));
  if (*rc::gen::arbitrary<bool>() && frame.size() > 40) {
    const bytes good = written(some_route(), some_transport());
    std::copy_n(good.begin(), std::min(good.size(), std::min<std::size_t>(frame.size(), 42)), frame.begin());
  }
  const parsed p = read_frame(frame);
  if (p.what != frame_kind::roce) return;
  RC_ASSERT(p.transport.data() + p.transport.size() + crc_bytes <= frame.data() + frame.size());
}

RC_GTEST_PROP(Arp, IsReadAsItWasWritten, ()) {
  const bool request = *rc::gen::arbitrary<bool>();
  const endpoint from{some_mac(), *rc::gen::arbitrary<ip_address>()};
  const endpoint to{some_mac(), *rc::gen::arbitrary<ip_address>()};
  std::array<std::byte, arp_bytes> frame;
  RC_ASSERT(write_arp(frame, request, from, to) == arp_bytes);
  const parsed p = read_frame(frame);
  RC_ASSERT(p.what == (request ? frame_kind::arp_request : frame_kind::arp_reply));
  RC_ASSERT(p.from.mac == from.mac && p.from.ip == from.ip && p.to.ip == to.ip);
  RC_ASSERT(p.destination == (request ? everybody : to.mac));
  for (std::size_t n = 0; n < frame.size(); ++n) RC_ASSERT(read_frame(std::span(frame).first(n)).what == frame_kind::cut_short);
}

TEST(Address, IsReadOrRefused) {
  EXPECT_EQ(parse_ip("192.168.77.1"), 0xc0a84d01);
  EXPECT_EQ(parse_ip("0.0.0.0"), 0U);
  EXPECT_EQ(to_text(0xc0a84d01), "192.168.77.1");
  for (const char* bad : {"", "1", "1.2.3", "1.2.3.", "1.2.3.4.", "1.2.3.256", "1.2.3.-4", "1.2.3.4 ", " 1.2.3.4", "1..3.4",
                          "1.2.3.0004", "a.b.c.d", "99999999999.1.1.1"}) {
    EXPECT_EQ(parse_ip(bad), std::nullopt) << bad;
  }
}

TEST(Network, GivesEveryHostOneLid) {
  const network n(0xc0a84d01, 3);
  std::set<std::uint16_t> seen;
  for (ip_address a = 0xc0a84d00; a < 0xc0a84e00; ++a) {
    const std::uint16_t lid = n.lid_of(a);
    EXPECT_TRUE(lid != 0 && lid < 0xc000) << to_text(a);
    EXPECT_TRUE(seen.insert(lid).second);
    EXPECT_EQ(n.ip_of(lid), a);
    EXPECT_EQ(n.is_node(a), lid <= 3);
  }
  EXPECT_EQ(n.lid_of(0xc0a84e00), 0);
  EXPECT_EQ(n.lid_of(0xc0a84cff), 0);
  for (const unsigned lid : {0U, 4U, 0x7fffU, 0x8100U, 0x8001U})
    EXPECT_EQ(n.ip_of(static_cast<std::uint16_t>(lid)), std::nullopt);
  EXPECT_TRUE(network::has_room(0xc0a84d01, 254));
  EXPECT_FALSE(network::has_room(0xc0a84d01, 255));
  EXPECT_FALSE(network::has_room(0xc0a84d00, 1));
  EXPECT_EQ(ip_of(gid_of(0xc0a84d01)), 0xc0a84d01);
  EXPECT_EQ(ip_of(gid{0xfe80'0000'0000'0000, 1}), std::nullopt);
  EXPECT_EQ(ip_of(gid{0, 0xc0a84d01}), std::nullopt);
}

packet& some_packet(packet& p) {
  const auto opcode =
      *rc::gen::suchThat(rc::gen::arbitrary<std::uint8_t>(), [](std::uint8_t o) { return wire::shape_of(o).known; });
  p.header = {};
  p.header.opcode = opcode;
  p.header.dest_qpn = *rc::gen::inRange(0U, 1U << 24);
  p.header.psn = *rc::gen::inRange(0U, 1U << 24);
  p.header.solicited = *rc::gen::arbitrary<bool>();
  p.header.ack_request = *rc::gen::arbitrary<bool>();
  p.header.dest_lid = 0x8002;
  p.header.source_lid = 1;
  p.header.va = *rc::gen::arbitrary<std::uint64_t>();
  p.header.rkey = *rc::gen::arbitrary<std::uint32_t>();
  p.payload = p.header.shape().payload ? static_cast<std::uint32_t>(*rc::gen::inRange(0, 1025)) : 0;
  const bytes payload = some_bytes(p.payload);
  std::copy(payload.begin(), payload.end(), p.data());
  encode(p);
  return p;
}

// Out to a frame and back into a fabric: the packet is unchanged from the BTH on, with the ICRC of its new LRH.
RC_GTEST_PROP(Crossing, KeepsThePacket, ()) {
  packet out;
  some_packet(out);
  const std::span<const std::byte> transport = transport_of(out);
  const bytes frame = written(some_route(), bytes(transport.begin(), transport.end()));
  const parsed p = read_frame(frame);
  RC_ASSERT(p.what == frame_kind::roce);
  packet in;
  RC_ASSERT(to_fabric(in, {.from = 0x8002, .to = 1, .service_level = 3, .lane = 1}, p.transport));
  RC_ASSERT(in.header.source_lid == 0x8002 && in.header.dest_lid == 1 && in.header.service_level == 3 && in.lane() == 1);
  RC_ASSERT(in.payload == out.payload && in.header.pad == out.header.pad && in.header.opcode == out.header.opcode);
  RC_ASSERT(icrc_holds(in, in.on_wire().size()));
  const std::span<const std::byte> again = transport_of(in);
  RC_ASSERT(std::equal(again.begin(), again.end(), transport.begin(), transport.end()));
}

RC_GTEST_PROP(Crossing, RefusesWhatIsNoPacket, ()) {
  const bytes transport = some_bytes(static_cast<std::size_t>(*rc::gen::inRange(0, 80)));
  packet p;
  if (!to_fabric(p, {.from = 0x8002, .to = 1}, transport)) return;
  RC_ASSERT(p.header.shape().known);
  RC_ASSERT(transport_of(p).size() == transport.size());
  RC_ASSERT(icrc_holds(p, p.on_wire().size()));
}

}  // namespace
}  // namespace hcasim::gateway
