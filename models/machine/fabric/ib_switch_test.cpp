#include "models/machine/fabric/ib_switch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "models/machine/fabric/fabric_test_kit.h"
#include "models/machine/fabric/link.h"
#include "tlm/base/random.h"
#include "tlm/checker/checker_set.h"

namespace hcasim {
namespace {

using testing::device;
using testing::histogram_of;
using testing::make_packet;
using testing::run_for;
using testing::run_until_idle;
using testing::send_overhead;
using testing::value_of;

// A star: device i (LID 1 + i) at end 0 of link i, the switch at end 1.
struct star {
  packet_pool packets;
  ib_switch hub;
  std::deque<link> links;
  std::deque<device> devices;
  checker_set checkers{violation_log::action::collect};

  star(const switch_config& s, const std::vector<link_config>& ls) : hub("hub", s, static_cast<unsigned>(ls.size()), packets) {
    for (unsigned i = 0; i < ls.size(); ++i) {
      link& l = links.emplace_back(("link" + std::to_string(i)).c_str(), ls[i], packets, 1);
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
  ~star() {
    checkers.finish(1_ms);
    for (const violation& v : checkers.log().all()) ADD_FAILURE() << v.binding << ": " << name_of(v.broken) << ' ' << v.text;
  }
  star(const star&) = delete;
  star& operator=(const star&) = delete;
  void send(unsigned from, unsigned to, std::uint32_t psn, std::uint32_t payload, ps at, std::uint8_t sl = 0) {
    devices[from].send(make_packet(packets, psn, payload, sl, static_cast<std::uint16_t>(1 + to)), at);
  }
};

link_config plain(double gbps = 100, std::uint64_t buffer = 0) {
  return testing::plain_link(20_ns, gbps, buffer);
}

ps serial(std::uint32_t payload, double gbps = 100) {
  return bit_rate{gbps * 1e9}.time_for(payload + send_overhead);
}

TEST(Switch, CutThroughAddsItsLatencyOnly) {
  star t({}, {plain(), plain()});
  t.send(0, 1, 5, 4096, 0_ps);
  const ps arrival = 20_ns + 100_ns + 20_ns + serial(4096);
  run_for(arrival);  // everything before it
  EXPECT_TRUE(t.devices[1].arrivals.empty());
  run_for(1_ps);
  ASSERT_EQ(t.devices[1].arrivals.size(), 1U);
  EXPECT_TRUE(t.devices[1].arrivals[0].intact);
}

TEST(Switch, StoreAndForwardSerialisesTwice) {
  switch_config s;
  s.mode = forwarding::store_and_forward;
  star t(s, {plain(), plain()});
  t.send(0, 1, 5, 4096, 0_ps);
  run_until_idle();
  EXPECT_EQ(t.devices[1].arrivals.at(0).at, 20_ns + 100_ns + 20_ns + 2 * serial(4096));
}

TEST(Switch, CutThroughToASlowerLinkTakesTheSlowersTime) {
  star t({}, {plain(100), plain(25)});
  t.send(0, 1, 5, 4096, 0_ps);
  run_until_idle();
  EXPECT_EQ(t.devices[1].arrivals.at(0).at, 20_ns + 100_ns + 20_ns + serial(4096, 25));
}

TEST(Switch, CutThroughToAFasterLinkEndsWithTheSlowersLastByte) {
  star t({}, {plain(25), plain(100)});
  t.send(0, 1, 5, 4096, 0_ps);
  run_until_idle();
  EXPECT_EQ(t.devices[1].arrivals.at(0).at, 20_ns + 100_ns + 20_ns + serial(4096, 25));
}

TEST(Switch, DropsWhatHasNoRouteAndReturnsItToThePool) {
  star t({}, {plain(100, 8_KiB), plain(100, 8_KiB)});
  for (std::uint32_t i = 0; i < 50; ++i) t.send(0, 7, i, 1000, 0_ps);
  t.send(0, 1, 50, 1000, 0_ps);
  run_until_idle();
  run_for(1_us);
  EXPECT_EQ(t.hub.dropped(), 50U);
  EXPECT_EQ(t.devices[1].arrivals.size(), 1U);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.links[0].free_blocks(0, 0), 128U);
}

TEST(Switch, RoutesByTheBytesOnTheWire) {
  star t({}, {plain(), plain(), plain()});
  packet& p = make_packet(t.packets, 1, 100, 0, 2);
  p.raw()[p.head + 3] = std::byte{3};
  t.devices[0].send(p, 0_ps);
  run_until_idle();
  EXPECT_TRUE(t.devices[1].arrivals.empty());
  EXPECT_EQ(t.devices[2].arrivals.size(), 1U);
}

TEST(Switch, TwoInputsShareAnOutputAndUseItFully) {
  star t({}, {plain(100, 16_KiB), plain(100, 16_KiB), plain(100, 16_KiB)});
  constexpr std::uint32_t n = 2000;
  for (std::uint32_t i = 0; i < n; ++i) {
    t.send(0, 2, i, 1024, 0_ps);
    t.send(1, 2, 100000 + i, 1024, 0_ps);
  }
  run_until_idle();
  const auto& got = t.devices[2].arrivals;
  ASSERT_EQ(got.size(), 2 * n);
  EXPECT_NEAR(to_seconds(got.back().at), 2 * n * to_seconds(serial(1024)), 0.02 * to_seconds(got.back().at));
  std::uint32_t next[2] = {0, 100000};
  std::uint32_t first_half = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const unsigned from = got[i].psn >= 100000 ? 1 : 0;
    ASSERT_EQ(got[i].psn, next[from]++);
    if (i < got.size() / 2 && from == 0) ++first_half;
  }
  EXPECT_NEAR(first_half, n / 2, 0.02 * n);
}

TEST(Switch, FullQueuePushesBackToTheSendersAndLosesNothing) {
  switch_config s;
  s.queue = 8_KiB;
  star t(s, {plain(100, 16_KiB), plain(100, 16_KiB), plain(10, 16_KiB)});
  t.devices[2].mode = device::answer::later;
  t.devices[2].latency = 5_us;
  for (std::uint32_t i = 0; i < 300; ++i) {
    t.send(0, 2, i, 2048, 0_ps);
    t.send(1, 2, 100000 + i, 2048, 0_ps);
  }
  run_until_idle();
  run_for(1_us);
  EXPECT_EQ(t.devices[2].arrivals.size(), 600U);
  EXPECT_GT(value_of(t.hub, "held"), 0);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.links[0].free_blocks(0, 0), 256U);
  EXPECT_EQ(t.links[2].free_blocks(1, 0), 256U);
  std::uint32_t next[2] = {0, 100000};
  for (const auto& x : t.devices[2].arrivals) ASSERT_EQ(x.psn, next[x.psn >= 100000 ? 1 : 0]++);
}

TEST(Switch, ASmallPacketDoesNotOvertakeALargeOneThatWaitsForRoom) {
  switch_config s;
  s.queue = 5_KiB;
  star t(s, {plain(100), plain(10)});
  std::uint32_t psn = 0;
  for (int i = 0; i < 20; ++i) {
    t.send(0, 1, psn++, 4096, 0_ps);
    t.send(0, 1, psn++, 64, 0_ps);
  }
  run_until_idle();
  EXPECT_GT(value_of(t.hub, "held"), 0);
  const auto& got = t.devices[1].arrivals;
  ASSERT_EQ(got.size(), 40U);
  for (std::uint32_t i = 0; i < 40; ++i) ASSERT_EQ(got[i].psn, i);
}

switch_config lanes(std::uint32_t n) {
  switch_config s;
  s.virtual_lanes = n;
  return s;
}
link_config with_lanes(link_config c, std::uint32_t n) {
  c.virtual_lanes = n;
  return c;
}

TEST(SwitchLanes, TakeTurnsAtACongestedOutput) {
  const link_config fast = with_lanes(plain(100, 64_KiB), 2);
  star t(lanes(2), {fast, fast, with_lanes(plain(25, 64_KiB), 2)});
  // Lane 1 has four times the packets of lane 0 in the queue.
  for (std::uint32_t i = 0; i < 40; ++i) t.send(0, 2, i, 1024, 0_ps, 0);
  for (std::uint32_t i = 0; i < 160; ++i) t.send(1, 2, 1000 + i, 1024, 0_ps, 1);
  run_until_idle();
  const auto& got = t.devices[2].arrivals;
  ASSERT_EQ(got.size(), 200U);
  for (std::size_t i = 2; i < 78; ++i) ASSERT_NE(got[i].lane, got[i - 1].lane) << i;
}

TEST(SwitchLanes, SlGivesTheLaneModuloTheirNumber) {
  const link_config l = with_lanes(plain(), 4);
  star t(lanes(4), {l, l});
  for (std::uint8_t sl = 0; sl < 16; ++sl) t.send(0, 1, sl, 64, 0_ps, sl);
  run_until_idle();
  for (const auto& x : t.devices[1].arrivals) {
    EXPECT_EQ(x.lane, x.psn % 4);
    EXPECT_TRUE(x.intact);
  }
}

TEST(SwitchLanes, ABlockedLaneDoesNotHoldUpAnother) {
  const link_config l = with_lanes(plain(100, 2_KiB), 2);
  switch_config s = lanes(2);
  s.queue = 4_KiB;
  star t(s, {l, l, l});
  t.devices[2].mode = device::answer::on_demand;
  t.devices[2].kept_lane = 0;
  for (std::uint32_t i = 0; i < 50; ++i) t.send(0, 2, i, 1024, 0_ps, 0);
  for (std::uint32_t i = 0; i < 50; ++i) t.send(0, 2, 1000 + i, 1024, 50_us, 1);
  run_for(200_us);
  std::size_t lane1 = 0;
  for (const auto& x : t.devices[2].arrivals) lane1 += x.lane;
  EXPECT_EQ(lane1, 50U);
  EXPECT_EQ(t.devices[2].arrivals.size(), 51U);  // and the one of lane 0 that found room
  EXPECT_LT(t.devices[2].arrivals.back().at, 60_us);
}

// Poisson arrivals of packets of one length: M/D/1, whose mean wait is rho S / (2 (1 - rho)).
struct poisson_star : star {
  poisson_star() : star({}, {plain(1000), plain(1000), plain(1000), plain(1000), plain(100)}) {}

  void offer(double load, std::uint32_t packets_each, std::uint32_t payload) {
    const double interval = static_cast<double>(serial(payload).count()) * 4 / load;
    for (unsigned source = 0; source < 4; ++source) {
      random_stream r(7, "source" + std::to_string(source));
      double t = 0;
      for (std::uint32_t i = 0; i < packets_each; ++i) {
        t -= std::log(1 - r.unit()) * interval;
        sources.push_back({this, source, ps(static_cast<std::int64_t>(t))});
      }
    }
    std::sort(sources.begin(), sources.end(), [](const shot& a, const shot& b) { return a.at < b.at; });
    for (const shot& s : sources) send(s.source, 4, 0, payload, s.at);
  }
  struct shot {
    poisson_star* self;
    unsigned source;
    ps at;
  };
  std::vector<shot> sources;
};

TEST(SwitchQueue, FollowsLittleAndTheMD1Formula) {
  poisson_star t;
  constexpr double load = 0.7;
  constexpr std::uint32_t payload = 512;
  t.offer(load, 10000, payload);
  run_until_idle();
  ASSERT_EQ(t.devices[4].arrivals.size(), 40000U);
  const double wait = histogram_of(t.hub, "port4_wait").mean();
  const double queue = value_of(t.hub, "port4_queue");
  const double rate = 40000 / static_cast<double>(now().count());
  EXPECT_NEAR(queue, rate * wait, 0.02 * queue);
  const double service = static_cast<double>(serial(payload).count());
  const double rho = rate * service;
  const double formula = rho * service / (2 * (1 - rho));
  // A tenth: the sources' own links are ten times as fast, and 40 000 packets are a sample.
  const auto latency = static_cast<double>(switch_config{}.latency.count());
  EXPECT_NEAR(wait - latency, formula, 0.1 * formula);
}

}  // namespace
}  // namespace hcasim
