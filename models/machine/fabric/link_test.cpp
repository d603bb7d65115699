#include "models/machine/fabric/link.h"

#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <map>

#include "models/machine/fabric/fabric_test_kit.h"
#include "tlm/checker/checker_set.h"

namespace hcasim {
namespace {

using testing::device;
using testing::histogram_of;
using testing::make_packet;
using testing::plain_link;
using testing::run_for;
using testing::run_until_idle;
using testing::send_overhead;
using testing::value_of;

struct bench {
  packet_pool packets;
  link wire;
  device a{"a", packets};
  device b{"b", packets};
  checker_set checkers{violation_log::action::collect};

  explicit bench(const link_config& c, std::uint64_t seed = 1) : wire("wire", c, packets, seed) {
    a.out.bind(wire.in[0]);
    wire.out[0].bind(a.in);
    b.out.bind(wire.in[1]);
    wire.out[1].bind(b.in);
    checkers.watch(a.out);
    checkers.watch(b.out);
    for (auto& s : wire.out) checkers.watch(s, {.sealed = c.corruption == 0});
  }
  ~bench() {
    checkers.finish(1_ms);
    for (const violation& v : checkers.log().all()) ADD_FAILURE() << v.binding << ": " << name_of(v.broken) << ' ' << v.text;
  }
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;
};

std::vector<std::uint32_t> psns(const device& d) {
  std::vector<std::uint32_t> v;
  for (const auto& x : d.arrivals) v.push_back(x.psn);
  return v;
}

TEST(Link, DeliversAfterSerialisationAndPropagationExactly) {
  bench t(plain_link(25_ns));
  t.a.send(make_packet(t.packets, 7, 1000), 100_ns);
  const ps arrival = 100_ns + bit_rate{100e9}.time_for(1000 + send_overhead) + 25_ns;
  EXPECT_EQ(arrival, 207'080_ps);
  run_for(arrival);  // everything before it
  EXPECT_TRUE(t.b.arrivals.empty());
  run_for(1_ps);
  ASSERT_EQ(t.b.arrivals.size(), 1U);
  EXPECT_EQ(t.b.arrivals[0].at, arrival);
  EXPECT_TRUE(t.b.arrivals[0].intact);
  EXPECT_EQ(t.a.taken.at(0), arrival - 25_ns);
}

TEST(Link, EarlyDeliveryHandsOverTheFirstByte) {
  bench t(plain_link(25_ns));
  t.wire.deliver_early(1);
  t.a.send(make_packet(t.packets, 7, 1000), 0_ps);
  run_until_idle();
  EXPECT_EQ(t.b.arrivals.at(0).at, 25_ns);
  EXPECT_EQ(t.b.arrivals.at(0).last_bit, 25_ns + bit_rate{100e9}.time_for(1000 + send_overhead));
}

TEST(Link, DirectionsDoNotShareTheWire) {
  bench t(plain_link(25_ns));
  t.a.send(make_packet(t.packets, 1, 4096), 0_ps);
  t.b.send(make_packet(t.packets, 2, 4096), 0_ps);
  run_until_idle();
  EXPECT_EQ(t.a.arrivals.at(0).at, t.b.arrivals.at(0).at);
  EXPECT_EQ(t.a.arrivals.at(0).psn, 2U);
}

class LinkGoodput : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(LinkGoodput, IsTheRateTimesThePayloadsShare) {
  bench t(plain_link(25_ns));
  constexpr std::uint32_t n = 2000;
  const std::uint32_t payload = GetParam();
  for (std::uint32_t i = 0; i < n; ++i) t.a.send(make_packet(t.packets, i, payload), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.b.arrivals.size(), n);
  const double seconds = to_seconds(t.b.arrivals.back().at);
  const double goodput = 8.0 * payload * n / seconds;
  EXPECT_NEAR(goodput, 100e9 * payload / (payload + send_overhead), 0.02 * goodput);
  EXPECT_NEAR(t.wire.utilisation(0), 1.0, 0.01);
  EXPECT_EQ(t.wire.utilisation(1), 0.0);
  EXPECT_EQ(value_of(t.wire, "end0_bytes"), n * (payload + send_overhead));
}
INSTANTIATE_TEST_SUITE_P(Payloads, LinkGoodput, ::testing::Values(64U, 256U, 1024U, 4096U));

TEST(Link, OnePacketCostsOneKernelEvent) {
  bench t(plain_link(25_ns));
  for (std::uint32_t i = 0; i < 100; ++i) t.a.send(make_packet(t.packets, i, 256), 0_ps);
  run_for(1_ps);  // all are on their way
  const std::uint64_t before = event_queue::instance().hand_overs();
  run_until_idle();
  EXPECT_EQ(t.b.arrivals.size(), 100U);
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 100U);
}

// 1000 bytes of payload are 1026 bytes on the wire: 17 blocks.
struct credit_bench : bench {
  static link_config with_blocks(std::uint64_t blocks) {
    link_config c = plain_link(25_ns);
    c.buffer = 64 * blocks;
    return c;
  }
  explicit credit_bench(std::uint64_t blocks) : bench(with_blocks(blocks)) { b.mode = device::answer::on_demand; }
};

TEST(LinkCredits, ExactlyEnoughForTwoPackets) {
  credit_bench t(34);
  for (std::uint32_t i = 0; i < 3; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_for(1_us);
  EXPECT_EQ(psns(t.b), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(t.a.taken.size(), 2U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 0U);
  // The buffer is free at 2 us; the credit is back 25 ns later and the packet starts then.
  t.b.free_one(2_us);
  const ps arrival = 2_us + 25_ns + bit_rate{100e9}.time_for(1026) + 25_ns;
  run_for(arrival - 1_us);  // everything before it
  EXPECT_EQ(t.b.arrivals.size(), 2U);
  run_for(1_ps);
  ASSERT_EQ(t.b.arrivals.size(), 3U);
  EXPECT_EQ(t.a.taken.at(2), arrival - 25_ns);
  EXPECT_EQ(value_of(t.wire, "end0_credit_stalls"), 1);
  EXPECT_EQ(histogram_of(t.wire, "end0_credit_stall_time").mean(), static_cast<double>((2_us + 25_ns).count()));
}

TEST(LinkCredits, OneBlockLessHoldsTheSecondPacketBack) {
  credit_bench t(33);
  for (std::uint32_t i = 0; i < 2; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_for(1_us);
  EXPECT_EQ(t.b.arrivals.size(), 1U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 16U);
}

TEST(LinkCredits, ABlockIsCountedWhenItIsBegun) {
  credit_bench t(3);
  t.a.send(make_packet(t.packets, 0, 36), 0_ps);  // 62 bytes on the wire
  t.a.send(make_packet(t.packets, 1, 37), 0_ps);  // padded to 66
  run_for(1_us);
  EXPECT_EQ(t.b.arrivals.size(), 2U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 0U);
}

TEST(LinkCredits, ThroughputIsWindowOverRoundTrip) {
  link_config c = plain_link(25_ns);
  c.propagation = 500_ns;
  c.buffer = 64 * 17 * 8;
  bench t(c);
  t.b.mode = device::answer::later;
  t.b.latency = 200_ns;
  constexpr std::uint32_t n = 4000;
  for (std::uint32_t i = 0; i < n; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.b.arrivals.size(), n);
  const double round_trip = to_seconds(bit_rate{100e9}.time_for(1026) + 500_ns + 200_ns + 500_ns);
  const double expected = 8 / round_trip;
  const double measured = n / to_seconds(t.b.arrivals.back().at);
  EXPECT_NEAR(measured, expected, 0.02 * expected);
}

TEST(LinkCredits, EnoughForTheRoundTripGiveTheWholeRate) {
  link_config c = plain_link(25_ns);
  c.propagation = 500_ns;
  c.buffer = 64 * 17 * 16;
  bench t(c);
  t.b.latency = 200_ns;
  constexpr std::uint32_t n = 4000;
  for (std::uint32_t i = 0; i < n; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_until_idle();
  const double expected = n * to_seconds(bit_rate{100e9}.time_for(1026));
  EXPECT_NEAR(to_seconds(t.b.arrivals.back().at), expected, 0.02 * expected);
}

TEST(LinkCredits, BackPressureLosesNothingAndKeepsTheOrder) {
  link_config c = plain_link(25_ns);
  c.buffer = 8_KiB;
  bench t(c);
  t.b.mode = device::answer::later;
  t.b.latency = 3_us;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 500; ++i) {
    t.a.send(make_packet(t.packets, i, 1 + (i * 977) % 4096), ps(static_cast<std::int64_t>(i) * 1000));
    expected.push_back(i);
  }
  run_until_idle();
  run_for(1_us);
  EXPECT_EQ(psns(t.b), expected);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 128U);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(t.a.taken.size(), 500U);
}

// Keeps the latest value that a signal was given for each time.
struct watched_signal final : probe_sink {
  std::map<ps, std::uint64_t> values;

  watched_signal(const unit& of, std::string_view name) {
    for (const probe_entry& e : of.signals().all()) {
      if (e.name == name) e.signal->watch(this, 0);
    }
  }
  void change(std::uint32_t, std::uint64_t value, ps at) override { values[at] = value; }
  [[nodiscard]] std::uint64_t at(ps t) const { return std::prev(values.upper_bound(t))->second; }
};

// 20 packets of 17 blocks, one every 50 ns, to a receiver that holds each for 300 ns: faster than the wire.
TEST(LinkCredits, TheSignalShowsTheFreeCreditsAtEachTime) {
  credit_bench t(120);
  t.b.mode = device::answer::later;
  t.b.latency = 300_ns;
  const watched_signal credits(t.wire, "end0_credits_vl0");
  for (std::uint32_t i = 0; i < 20; ++i) t.a.send(make_packet(t.packets, i, 1000), i * 50_ns);
  for (ps at = 100_ns; at < 4_us; at += 100_ns) {
    run_for(at - now());
    // The link counts packets whose start lies ahead, too.
    if (at > 3_us) {
      EXPECT_EQ(credits.at(at), t.wire.free_blocks(0, 0)) << at.count();
    }
    EXPECT_LE(t.wire.free_blocks(0, 0), credits.at(at)) << at.count();
  }
  const ps serial = bit_rate{100e9}.time_for(1026);
  EXPECT_EQ(credits.at(0_ps), 103U);
  EXPECT_EQ(credits.at(serial - 1_ps), 103U);
  EXPECT_EQ(credits.at(serial), 86U);
  // The first packet has arrived after 25 ns, is kept for 300 ns, and its credits have 25 ns to come back.
  const ps back = serial + 25_ns + 300_ns + 25_ns;
  EXPECT_EQ(credits.at(back) - credits.at(back - 1_ps), 17U);
  EXPECT_EQ(credits.values.rbegin()->second, 120U);
}

TEST(LinkCredits, ALaneWithoutCreditsDoesNotHoldUpAnother) {
  link_config c = plain_link(25_ns);
  c.virtual_lanes = 2;
  c.buffer = 64 * 17;
  bench t(c);
  t.b.mode = device::answer::on_demand;
  t.b.kept_lane = 0;
  for (std::uint32_t i = 0; i < 10; ++i) t.a.send(make_packet(t.packets, i, 1000, 0), 0_ps);
  const ps serial = bit_rate{100e9}.time_for(1026);
  for (std::uint32_t i = 0; i < 10; ++i) t.a.send(make_packet(t.packets, 100 + i, 1000, 1), 10_us + i * serial * 2);
  run_for(100_us);
  std::vector<std::uint32_t> expected{0};
  for (std::uint32_t i = 0; i < 10; ++i) expected.push_back(100 + i);
  EXPECT_EQ(psns(t.b), expected);
  // Each of lane 1 found the wire free: not delayed by the nine that wait on lane 0.
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(t.b.arrivals[1 + i].at, 10_us + i * serial * 2 + serial + 25_ns);
}

TEST(LinkFaults, FilterDropsExactlyWhatItNames) {
  bench t(plain_link(25_ns));
  t.wire.set_fault_filter(
      [](const packet& p, unsigned end) { return end == 0 && p.header.psn == 1 ? fault::loss : fault::none; });
  for (std::uint32_t i = 0; i < 3; ++i) {
    t.a.send(make_packet(t.packets, i, 100), 0_ps);
    t.b.send(make_packet(t.packets, i, 100), 0_ps);
  }
  run_until_idle();
  EXPECT_EQ(psns(t.b), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(psns(t.a), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(value_of(t.wire, "end0_lost"), 1);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(LinkFaults, LostPacketsGiveTheirCreditsBack) {
  link_config c = plain_link(25_ns);
  c.buffer = 8_KiB;
  c.loss = 0.5;
  bench t(c);
  t.b.latency = 100_ns;
  for (std::uint32_t i = 0; i < 2000; ++i) t.a.send(make_packet(t.packets, i, 4096), 0_ps);
  run_until_idle();
  run_for(1_us);
  EXPECT_EQ(t.b.arrivals.size() + static_cast<std::size_t>(value_of(t.wire, "end0_lost")), 2000U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 128U);
}

constexpr std::size_t credit_loss = 2;

TEST(LinkFaults, LostCreditsStallTheLaneUntilTheNextUpdate) {
  credit_bench t(100);
  t.b.mode = device::answer::at_once;
  const watched_signal credits(t.wire, "end0_credits_vl0");
  for (std::uint32_t i = 0; i < 50; ++i) t.a.send(make_packet(t.packets, i, 1000), i * 100_ns);
  run_for(6_us);
  ASSERT_EQ(t.b.arrivals.size(), 50U);
  t.wire.inject(credit_loss, {.count = 5000, .length = 50_us});
  const ps update = now() + 50_us;
  EXPECT_EQ(t.wire.free_blocks(0, 0), 0U);
  t.a.send(make_packet(t.packets, 50, 1000), now() + 1_us);
  run_for(200_us);
  ASSERT_EQ(t.b.arrivals.size(), 51U);
  EXPECT_EQ(t.b.arrivals.back().at, update + bit_rate{100e9}.time_for(1026) + 25_ns);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 100U);
  EXPECT_EQ(credits.at(update - 1_ps), 0U);
  EXPECT_EQ(credits.at(update), 83U) << "the packet starts at once";
  EXPECT_EQ(credits.values.rbegin()->second, 100U);
  EXPECT_NEAR(value_of(t.wire, "end0_buffer_utilisation"), 51 * 17 * to_seconds(132_ns) / (100 * to_seconds(now())), 1e-5);
}

// The window is full at that time: the credits are lost when they come back.
TEST(LinkFaults, LostCreditsStallAFullWindow) {
  credit_bench t(34);
  t.b.mode = device::answer::later;
  t.b.latency = 200_ns;
  for (std::uint32_t i = 0; i < 100; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_for(2_us);
  const std::size_t before = t.b.arrivals.size();
  t.wire.inject(credit_loss, {.count = 34, .length = 20_us});
  run_for(20_us);
  EXPECT_LE(t.b.arrivals.size(), before + 2) << "those that were on the wire";
  run_until_idle();
  EXPECT_EQ(t.b.arrivals.size(), 100U);
  run_for(1_us);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 34U);
}

TEST(LinkFaults, FewLostCreditsNarrowTheWindow) {
  credit_bench t(34);
  t.b.mode = device::answer::later;
  t.b.latency = 2_us;
  t.wire.inject(credit_loss, {.count = 1, .length = 100_us});
  for (std::uint32_t i = 0; i < 3; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_for(1_us);
  EXPECT_EQ(t.b.arrivals.size(), 1U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 16U);
  EXPECT_EQ(t.wire.free_blocks(1, 0), 33U);
}

class LinkPower : public ::testing::TestWithParam<unsigned> {};

// The first packet is on the wire in whole, the second in part, and the third not at all when an end loses its power.
TEST_P(LinkPower, ADeviceWithoutNeitherSendsNorReceives) {
  const unsigned end = GetParam();
  const ps serial = bit_rate{100e9}.time_for(1026);
  link_config c = plain_link(25_ns);
  c.buffer = 64 * 17 * 3;
  bench t(c);
  std::array<std::vector<bool>, 2> told;
  for (const unsigned e : {0U, 1U}) t.wire.on_change(e, [&told, e](bool up) { told[e].push_back(up); });
  for (std::uint32_t i = 0; i < 5; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_for(serial + 10_ns);
  t.wire.power(end, false);
  run_for(10_us);
  EXPECT_EQ(psns(t.b), end == 0 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{});
  EXPECT_EQ(t.a.taken.size(), 5U) << "the sender waits for no credits";
  t.b.send(make_packet(t.packets, 9, 100), now());
  run_for(10_us);
  EXPECT_TRUE(t.a.arrivals.empty());
  EXPECT_EQ(value_of(t.wire, "end0_lost") + static_cast<double>(t.b.arrivals.size()), 5);
  EXPECT_EQ(t.wire.lost_to_faults(), end == 0 ? 5U : 6U);
  t.wire.power(end, true);
  t.a.send(make_packet(t.packets, 5, 1000), now());
  run_for(10_us);
  EXPECT_EQ(psns(t.b).back(), 5U);
  EXPECT_EQ(t.wire.free_blocks(0, 0), 51U);
  EXPECT_EQ(t.packets.in_use(), 0U);
  EXPECT_EQ(told[1 - end], (std::vector<bool>{false, true}));
  EXPECT_TRUE(told[end].empty());
}

INSTANTIATE_TEST_SUITE_P(Ends, LinkPower, ::testing::Values(0U, 1U));

TEST(LinkFaults, DuplicateComesRightBehindTheOriginal) {
  bench t(plain_link(25_ns));
  t.wire.set_fault_filter([](const packet& p, unsigned) { return p.header.psn == 0 ? fault::duplication : fault::none; });
  t.a.send(make_packet(t.packets, 0, 1000), 0_ps);
  t.a.send(make_packet(t.packets, 1, 1000), 0_ps);
  run_until_idle();
  EXPECT_EQ(psns(t.b), (std::vector<std::uint32_t>{0, 0, 1}));
  const ps serial = bit_rate{100e9}.time_for(1026);
  EXPECT_EQ(t.b.arrivals[1].at, 2 * serial + 25_ns);
  EXPECT_TRUE(t.b.arrivals[1].intact);
  EXPECT_EQ(t.packets.in_use(), 0U);
}

TEST(LinkFaults, DelayedPacketIsOvertakenAndBounded) {
  link_config c = plain_link(25_ns);
  c.max_delay = 5_us;
  bench t(c);
  t.wire.set_fault_filter([](const packet& p, unsigned) { return p.header.psn == 0 ? fault::delay : fault::none; });
  for (std::uint32_t i = 0; i < 100; ++i) t.a.send(make_packet(t.packets, i, 1000), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.b.arrivals.size(), 100U);
  EXPECT_NE(t.b.arrivals[0].psn, 0U);
  const ps undelayed = bit_rate{100e9}.time_for(1026) + 25_ns;
  for (const auto& x : t.b.arrivals) {
    if (x.psn == 0) {
      EXPECT_GT(x.at, undelayed);
      EXPECT_LE(x.at, undelayed + 5_us);
    }
  }
}

TEST(LinkFaults, EveryCorruptedPacketFailsItsIcrc) {
  link_config c = plain_link(25_ns);
  c.corruption = 1;
  bench t(c);
  for (std::uint32_t i = 0; i < 5000; ++i) t.a.send(make_packet(t.packets, i, i % 64), 0_ps);
  run_until_idle();
  ASSERT_EQ(t.b.arrivals.size(), 5000U);
  for (const auto& x : t.b.arrivals) ASSERT_FALSE(x.intact) << x.psn;
}

// The numbers follow from the seed, so they are the same on every machine; each lies within 4 sigma of its expectation.
TEST(LinkFaults, CountsFollowFromTheSeed) {
  link_config c = plain_link(25_ns);
  c.loss = 0.01;
  c.corruption = 0.02;
  c.duplication = 0.03;
  c.delay = 0.04;
  bench t(c, 42);
  constexpr int n = 20000;
  for (std::uint32_t i = 0; i < n; ++i) t.a.send(make_packet(t.packets, i, 32), 0_ps);
  run_until_idle();
  const auto near = [](double count, double p) { return std::abs(count - n * p) < 4 * std::sqrt(n * p * (1 - p)); };
  EXPECT_TRUE(near(value_of(t.wire, "end0_lost"), 0.01));
  EXPECT_TRUE(near(value_of(t.wire, "end0_corrupted"), 0.02 * 0.99));
  EXPECT_TRUE(near(value_of(t.wire, "end0_duplicated"), 0.03 * 0.99));
  EXPECT_TRUE(near(value_of(t.wire, "end0_delayed"), 0.04 * 0.99));
  EXPECT_EQ(t.b.arrivals.size(), n - value_of(t.wire, "end0_lost") + value_of(t.wire, "end0_duplicated"));
  EXPECT_EQ(t.packets.in_use(), 0U);
}

}  // namespace
}  // namespace hcasim
