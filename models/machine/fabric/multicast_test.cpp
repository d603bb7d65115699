// A switch and multicast: receivers of copies, their times, and the use of the input buffer.
#include <gtest/gtest.h>

#include "models/machine/fabric/fabric_test_kit.h"
#include "models/machine/fabric/ib_switch.h"
#include "models/machine/fabric/link.h"
#include "tlm/base/random.h"
#include "tlm/checker/checker_set.h"

namespace hcasim {
namespace {

using testing::device;
using testing::run_for;
using testing::run_until_idle;
using testing::send_overhead;
using testing::value_of;

constexpr std::uint16_t group_lid = 0xc001;

struct replicating_star {
  packet_pool packets;
  ib_switch hub;
  std::deque<link> links;
  std::deque<device> devices;
  checker_set checkers{violation_log::action::collect};

  explicit replicating_star(const switch_config& s, unsigned ports, std::uint64_t buffer = 0, double slow = 100)
      : hub("hub", s, ports, packets) {
    for (unsigned i = 0; i < ports; ++i) {
      const link_config c = testing::plain_link(20_ns, i + 1 == ports ? slow : 100, buffer);
      link& l = links.emplace_back(("link" + std::to_string(i)).c_str(), c, packets, 1);
      device& d = devices.emplace_back(("device" + std::to_string(i)).c_str(), packets);
      d.out.bind(l.in[0]);
      l.out[0].bind(d.in);
      hub.attach(i, l, 1);
      hub.set_route(static_cast<std::uint16_t>(1 + i), i);
      checkers.watch(d.out, {.sealed = false});
      for (auto& out : l.out) checkers.watch(out, {.sealed = false});
      checkers.watch(hub.out[i], {.sealed = false});
    }
  }
  ~replicating_star() {
    checkers.finish(1_ms);
    for (const violation& v : checkers.log().all()) ADD_FAILURE() << v.binding << ": " << name_of(v.broken) << ' ' << v.text;
  }
  replicating_star(const replicating_star&) = delete;
  replicating_star& operator=(const replicating_star&) = delete;
  void send(unsigned from, std::uint32_t psn, std::uint32_t payload, ps at, std::uint16_t to = group_lid) {
    devices[from].send(testing::make_packet(packets, psn, payload, 0, to), at);
  }
};

ps on_wire(std::uint32_t payload, double gbps = 100) {
  return bit_rate{gbps * 1e9}.time_for(payload + send_overhead);
}

TEST(Multicast, EachMemberHasACopyWhenItsOutputWouldHaveIt) {
  replicating_star t({}, 4, 0, 25);
  for (const unsigned port : {0U, 1U, 3U}) t.hub.set_member(group_lid, port, true);
  t.send(0, 5, 4096, 0_ps);
  run_until_idle();
  EXPECT_TRUE(t.devices[0].arrivals.empty()) << "it came from there";
  EXPECT_TRUE(t.devices[2].arrivals.empty()) << "no member";
  ASSERT_EQ(t.devices[1].arrivals.size(), 1U);
  ASSERT_EQ(t.devices[3].arrivals.size(), 1U);
  EXPECT_EQ(t.devices[1].arrivals[0].at, 20_ns + 100_ns + 20_ns + on_wire(4096)) << "as a packet to one port";
  EXPECT_EQ(t.devices[3].arrivals[0].at, 20_ns + 100_ns + 20_ns + on_wire(4096, 25)) << "on the slower link";
  EXPECT_TRUE(t.devices[1].arrivals[0].intact);
  EXPECT_TRUE(t.devices[3].arrivals[0].intact);
  EXPECT_EQ(value_of(t.hub, "replicated"), 2.0);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(Multicast, WithoutMembersItIsDropped) {
  replicating_star t({}, 3, 8_KiB);
  t.send(0, 1, 1000, 0_ps);
  t.hub.set_member(group_lid, 0, true);
  t.send(0, 2, 1000, 1_us);
  run_until_idle();
  EXPECT_EQ(t.hub.dropped(), 2U) << "no member, and no member but the sender";
  t.hub.set_member(group_lid, 1, true);
  t.hub.set_member(group_lid, 1, true);
  t.hub.set_member(group_lid, 1, false);
  t.send(0, 3, 1000, 1_us);
  run_until_idle();
  EXPECT_EQ(t.devices[1].arrivals.size(), 1U) << "one of two groups is left";
  t.hub.set_member(group_lid, 1, false);
  t.send(0, 4, 1000, 1_us);
  t.send(0, 5, 1000, 2_us, 0xffff);
  run_until_idle();
  run_for(1_us);
  EXPECT_EQ(t.hub.dropped(), 4U);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.links[0].free_blocks(0, 0), 128U) << "credits are back";
}

// One member takes nothing: its queue fills, then the input buffer. The other member has every earlier packet.
TEST(Multicast, ThePacketKeepsItsInputBufferUntilTheLastOutputHasTakenIt) {
  switch_config s;
  s.queue = 2 * (1024 + send_overhead);
  replicating_star t(s, 3, 4_KiB);
  for (const unsigned port : {1U, 2U}) t.hub.set_member(group_lid, port, true);
  t.devices[2].mode = device::answer::on_demand;
  for (std::uint32_t i = 0; i < 12; ++i) t.send(0, i, 1024, 0_ps);
  run_until_idle();
  run_for(10_us);
  // Three on the wire to it in its own buffer, two in the queue, three in the input buffer.
  EXPECT_EQ(t.devices[2].arrivals.size(), 3U);
  EXPECT_EQ(t.devices[1].arrivals.size(), 8U);
  for (int i = 0; i < 12; ++i) {
    t.devices[2].free_one(now() + 1_ns);
    run_for(5_us);
  }
  EXPECT_EQ(t.devices[2].arrivals.size(), 12U);
  EXPECT_EQ(t.devices[1].arrivals.size(), 12U);
  for (const unsigned port : {1U, 2U}) {
    for (std::uint32_t i = 0; i < 12; ++i) EXPECT_EQ(t.devices[port].arrivals[i].psn, i) << "in their order";
  }
  EXPECT_EQ(t.packets.in_use(), 0U);
}

// Random groups, sizes and times, beside unicast: each copy arrives once, whole, and in the order of its sender.
TEST(Multicast, AtRandom) {
  random_stream r(7, "multicast");
  switch_config s;
  s.queue = 8_KiB;
  replicating_star t(s, 5, 16_KiB, 40);
  std::vector<std::vector<std::uint32_t>> expected(5);
  for (unsigned g = 0; g < 4; ++g) {
    for (unsigned port = 0; port < 5; ++port) {
      if (g == 3 || (g + port) % 3 != 0) t.hub.set_member(static_cast<std::uint16_t>(group_lid + g), port, true);
    }
  }
  for (std::uint32_t i = 0; i < 600; ++i) {
    const auto from = static_cast<unsigned>(r.below(5));
    const auto g = static_cast<unsigned>(r.below(5));
    const auto bytes = static_cast<std::uint32_t>(r.below(4097));
    const std::uint32_t psn = from << 16 | i;
    const ps at(static_cast<std::int64_t>(i) * 300'000);
    if (g == 4) {
      const unsigned to = (from + 1) % 5;
      t.send(from, psn, bytes, at, static_cast<std::uint16_t>(1 + to));
      expected[to].push_back(psn);
      continue;
    }
    t.send(from, psn, bytes, at, static_cast<std::uint16_t>(group_lid + g));
    for (unsigned port = 0; port < 5; ++port) {
      if (port != from && (g == 3 || (g + port) % 3 != 0)) expected[port].push_back(psn);
    }
  }
  run_until_idle();
  run_for(10_us);
  for (unsigned port = 0; port < 5; ++port) {
    for (std::uint32_t from = 0; from < 5; ++from) {
      std::vector<std::uint32_t> sent;
      std::vector<std::uint32_t> came;
      for (const std::uint32_t psn : expected[port]) {
        if (psn >> 16 == from) sent.push_back(psn);
      }
      for (const auto& a : t.devices[port].arrivals) {
        EXPECT_TRUE(a.intact);
        if (a.psn >> 16 == from) came.push_back(a.psn);
      }
      EXPECT_EQ(came, sent) << from << " to " << port;
    }
  }
  EXPECT_EQ(t.packets.in_use(), 0U);
}

}  // namespace
}  // namespace hcasim
