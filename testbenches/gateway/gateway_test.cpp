#include "testbenches/gateway/gateway.h"

#include <gtest/gtest.h>

#include "models/machine/fabric/fabric_test_kit.h"
#include "models/machine/fabric/link.h"
#include "testbenches/gateway/scripted_outside.h"
#include "tlm/checker/checker_set.h"
#include "tlm/roce/crossing.h"

namespace hcasim::gateway {
namespace {

using hcasim::testing::device;
using hcasim::testing::make_packet;
using hcasim::testing::plain_link;
using hcasim::testing::run_until_idle;
using hcasim::testing::value_of;
using testing::bytes;
using testing::scripted_outside;

constexpr ip_address node_ip = 0xc0a84d01;
constexpr ip_address guest_ip = 0xc0a84d02;
constexpr std::uint16_t guest_lid = network::first_outside_lid + 2;
const endpoint guest{{0x02, 0, 0, 0, 0, 0x02}, guest_ip};
const network hosts(node_ip, 1);
const endpoint node{hosts.mac_of(node_ip), node_ip};

// A device (the node's port) at one end of a cable, the gateway at the other.
struct bench {
  packet_pool packets;
  link wire;
  device port{"port", packets};
  scripted_outside world;
  router gate;
  ps end;
  checker_set checkers{violation_log::action::collect};

  explicit bench(const link_config& c = plain_link(10_ns), ps until = 5_ms, const gateway_config& g = {})
      : wire("wire", c, packets, 1), gate("gate", g, hosts, 1, world, packets), end(until) {
    port.out.bind(wire.in[0]);
    wire.out[0].bind(port.in);
    gate.out.bind(wire.in[1]);
    wire.out[1].bind(gate.in);
    checkers.watch(gate.out);
    checkers.watch(port.out);
    for (auto& s : wire.out) checkers.watch(s, {.sealed = c.corruption == 0});
  }
  ~bench() {
    checkers.finish(1_ms);
    for (const violation& v : checkers.log().all()) ADD_FAILURE() << v.binding << ": " << name_of(v.broken) << ' ' << v.text;
  }
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;

  void run() {
    gate.begin([this] { return now() < end; });
    run_until_idle();
  }
  // A SEND from outside.
  bytes frame(std::uint32_t psn, std::uint32_t payload = 64, const endpoint& from = guest, const endpoint& to = node) {
    packet& p = make_packet(packets, psn, payload);
    std::array<std::byte, most_frame> room;
    const std::size_t n = write_roce(room, {from, to}, transport_of(p));
    packets.put(p);
    return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  void comes(ps at, bytes data) { world.to_come.push_back({at, std::move(data), 0}); }
  void asks(ps at, const endpoint& from, ip_address who) {
    std::array<std::byte, arp_bytes> room;
    write_arp(room, true, from, {{}, who});
    comes(at, {room.begin(), room.end()});
  }
};

TEST(Gateway, AnswersForNodesAndForNoOther) {
  bench t;
  t.asks(100_us, guest, node_ip);
  t.asks(200_us, guest, guest_ip);
  t.asks(300_us, guest, 0xc0a84d63);
  t.asks(400_us, {guest.mac, 0x0a000001}, node_ip);  // an address of another network
  t.asks(500_us, {guest.mac, node_ip}, node_ip);     // calls itself the node
  t.run();
  ASSERT_EQ(t.world.sent.size(), 1U);
  const parsed p = read_frame(t.world.sent[0].data);
  EXPECT_EQ(p.what, frame_kind::arp_reply);
  EXPECT_EQ(p.from.mac, node.mac);
  EXPECT_EQ(p.from.ip, node_ip);
  EXPECT_EQ(p.destination, guest.mac);
  EXPECT_EQ(t.gate.seen(frame_kind::arp_request), 5U);
}

TEST(Gateway, AFrameEntersWhenItComes) {
  bench t;
  t.world.cost = ps(0);
  t.comes(123'456_ns, t.frame(7, 1000));
  t.run();
  ASSERT_EQ(t.port.arrivals.size(), 1U);
  const auto& a = t.port.arrivals[0];
  EXPECT_EQ(a.psn, 7U);
  EXPECT_TRUE(a.intact);
  EXPECT_EQ(a.at, 123'456_ns + bit_rate{100e9}.time_for(1000 + hcasim::testing::send_overhead) + 10_ns);
  EXPECT_EQ(t.gate.entered(), 1U);
  EXPECT_EQ(t.gate.lost_in(), 0U);
}

TEST(Gateway, APacketLeavesAsAFrame) {
  bench t;
  t.asks(10_us, guest, node_ip);
  t.port.send(make_packet(t.packets, 9, 500, 0, guest_lid), 1_ms);
  t.run();
  ASSERT_EQ(t.world.sent.size(), 2U);
  const parsed p = read_frame(t.world.sent[1].data);
  ASSERT_EQ(p.what, frame_kind::roce);
  EXPECT_EQ(p.from.mac, node.mac);
  EXPECT_EQ(p.from.ip, node_ip);
  EXPECT_EQ(p.to.mac, guest.mac);
  EXPECT_EQ(p.to.ip, guest_ip);
  packet back;
  ASSERT_TRUE(to_fabric(back, {guest_lid, 1}, p.transport));
  EXPECT_EQ(back.header.psn, 9U);
  EXPECT_EQ(back.payload, 500U);
  EXPECT_EQ(back.data()[3], static_cast<std::byte>(9 + 3));
  EXPECT_EQ(t.gate.left(), 1U);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(Gateway, AsksForAHostThatItDoesNotKnow) {
  bench t;
  t.port.send(make_packet(t.packets, 1, 64, 0, guest_lid), 1_ms);
  t.port.send(make_packet(t.packets, 2, 64, 0, guest_lid), 1100_us);  // no ARP request again so soon
  std::array<std::byte, arp_bytes> reply;
  write_arp(reply, false, guest, node);
  t.comes(2_ms, {reply.begin(), reply.end()});
  t.port.send(make_packet(t.packets, 3, 64, 0, guest_lid), 3_ms);
  t.run();
  ASSERT_EQ(t.world.sent.size(), 4U);
  const parsed question = read_frame(t.world.sent[0].data);
  EXPECT_EQ(question.what, frame_kind::arp_request);
  EXPECT_EQ(question.to.ip, guest_ip);
  EXPECT_EQ(question.destination, everybody);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    packet in;
    const parsed p = read_frame(t.world.sent[i].data);
    ASSERT_EQ(p.what, frame_kind::roce);
    ASSERT_TRUE(to_fabric(in, {guest_lid, 1}, p.transport));
    EXPECT_EQ(in.header.psn, i);
  }
  EXPECT_GE(t.world.sent[1].at, 2_ms);
  EXPECT_EQ(t.gate.lost_out(), 0U);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(Gateway, GivesAHostUpThatDoesNotAnswer) {
  bench t(plain_link(10_ns), 1'100_ms);
  constexpr std::uint32_t many = 70;
  for (std::uint32_t i = 0; i < many; ++i) t.port.send(make_packet(t.packets, i, 64, 0, guest_lid), 1_ms);
  t.run();
  EXPECT_EQ(value_of(t.gate, "lost_unresolved"), many);
  EXPECT_EQ(t.gate.left(), 0U);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_GT(t.world.sent.size(), 50U) << "it is asked again and again";
}

TEST(Gateway, PacketsWithoutAReceiverAreLost) {
  bench t;
  t.asks(10_us, guest, node_ip);
  t.port.send(make_packet(t.packets, 1, 64, 0, 77), 1_ms);
  t.port.send(make_packet(t.packets, 2, 64, 0, network::first_outside_lid + 1), 1100_us);  // the node itself
  t.run();
  EXPECT_EQ(t.gate.left(), 0U);
  EXPECT_EQ(value_of(t.gate, "lost_no_host"), 2);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(Gateway, DamagedFramesAreCountedAndStayOutside) {
  bench t;
  const bytes good = t.frame(1);
  bytes bad = good;
  bad[60] ^= std::byte{1};
  t.comes(10_us, bad);
  bad = good;
  bad[26] ^= std::byte{1};
  t.comes(20_us, bad);
  t.comes(30_us, {good.begin(), good.begin() + 50});
  t.comes(40_us, {});
  t.comes(50_us, t.frame(2, 64, guest, {node.mac, guest_ip}));
  t.comes(60_us, t.frame(3, 64, guest, {guest.mac, node_ip}));
  t.comes(70_us, t.frame(4, 64, {guest.mac, node_ip}, node));
  t.comes(80_us, t.frame(5, 64, {guest.mac, 0x0a000001}, node));
  bytes unknown = t.frame(6);
  {
    std::array<std::byte, most_frame> room;
    bytes transport(24, std::byte{0xff});
    const std::size_t n = write_roce(room, {guest, node}, transport);
    unknown.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n));
  }
  t.comes(90_us, unknown);
  t.comes(100_us, t.frame(7));
  t.run();
  EXPECT_EQ(t.gate.seen(frame_kind::icrc), 1U);
  EXPECT_EQ(t.gate.seen(frame_kind::ip_checksum), 1U);
  EXPECT_EQ(t.gate.seen(frame_kind::cut_short), 2U);
  EXPECT_EQ(value_of(t.gate, "lost_not_ours"), 2);
  EXPECT_EQ(value_of(t.gate, "lost_no_peer"), 2);
  EXPECT_EQ(value_of(t.gate, "lost_malformed"), 1);
  ASSERT_EQ(t.port.arrivals.size(), 1U);
  EXPECT_EQ(t.port.arrivals[0].psn, 7U);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(Gateway, APacketDamagedInTheFabricDoesNotLeave) {
  link_config c = plain_link(10_ns);
  c.corruption = 1;
  bench t(c);
  t.asks(10_us, guest, node_ip);
  for (std::uint32_t i = 0; i < 50; ++i) t.port.send(make_packet(t.packets, i, 200, 0, guest_lid), 1_ms + i * 10_us);
  t.run();
  // A bit of the lane in the LRH is under no ICRC.
  EXPECT_GE(value_of(t.gate, "lost_damaged"), 40);
  for (const auto& f : t.world.sent) EXPECT_NE(read_frame(f.data).what, frame_kind::icrc);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

// Frames that enter wait for the link's credits, as far as there is room.
TEST(Gateway, FramesThatFindNoRoomAreLost) {
  gateway_config g;
  g.queue = 8192;
  bench t(plain_link(10_ns, 100, 2048), 5_ms, g);
  t.port.mode = device::answer::on_demand;
  constexpr std::uint32_t many = 30;
  for (std::uint32_t i = 0; i < many; ++i) t.comes(10_us + i * 1_us, t.frame(i, 1000));
  t.gate.begin([&] { return now() < 2_ms; });
  hcasim::testing::run_for(2_ms);
  const auto in_room = t.port.arrivals.size();
  EXPECT_EQ(in_room, 1U);
  EXPECT_GE(value_of(t.gate, "lost_entering"), many - 12);
  EXPECT_LE(value_of(t.gate, "lost_entering"), many - 8);
  const auto kept = many - static_cast<std::uint32_t>(value_of(t.gate, "lost_entering"));
  t.port.mode = device::answer::at_once;
  t.port.free_one(now() + 1_us);
  hcasim::testing::run_for(500_us);
  EXPECT_EQ(t.port.arrivals.size(), kept);
}

// Slower than the link: packets wait in the fabric, and none is lost.
TEST(Gateway, LeavesAtItsRateAndHoldsTheLinksCredits) {
  gateway_config g;
  g.rate = bit_rate{1e9};
  bench t(plain_link(10_ns, 100, 4096), 10_ms, g);
  t.asks(10_us, guest, node_ip);
  constexpr std::uint32_t many = 100;
  for (std::uint32_t i = 0; i < many; ++i) t.port.send(make_packet(t.packets, i, 1000, 0, guest_lid), 1_ms);
  t.run();
  EXPECT_EQ(t.gate.left(), many);
  EXPECT_EQ(t.gate.lost_out(), 0U);
  ASSERT_EQ(t.world.sent.size(), many + 1);
  const ps each = g.rate.time_for(front_bytes + 12 + 1000 + crc_bytes);
  const ps taken = t.port.taken.back() - t.port.taken.front();
  EXPECT_NEAR(static_cast<double>(taken.count()), static_cast<double>((many - 3) * each.count()), 1e6);
}

TEST(Gateway, CountsWhatTheSystemRefuses) {
  gateway_config g;
  g.pace.idle_step = 50_us;
  bench t(plain_link(10_ns), 5_ms, g);
  t.asks(10_us, guest, node_ip);
  for (std::uint32_t i = 0; i < 3; ++i) t.port.send(make_packet(t.packets, i, 64, 0, guest_lid), 1_ms + i * 500_us);
  t.gate.begin([&] {
    t.world.refuses = now() > 800_us && now() < 1800_us;
    return now() < t.end;
  });
  run_until_idle();
  EXPECT_EQ(value_of(t.gate, "lost_refused"), 2);
  EXPECT_EQ(t.gate.left(), 1U);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

// A host that needs 100 us for each look outside simulates 20 us in them, falls behind, and says so.
TEST(Gateway, SaysHowFarItIsBehind) {
  gateway_config g;
  g.pace.idle_step = 20_us;
  bench t(plain_link(10_ns), 10_ms, g);
  t.world.cost = 50_us;
  t.run();
  EXPECT_GT(t.gate.pace().slipped(), 20_ms);
  EXPECT_GE(t.gate.pace().most_lag(), 10_ms);
}

}  // namespace
}  // namespace hcasim::gateway
