// With a second level an entry that made room comes back without a read of ICM.
#include "models/adapter/context_cache/context_cache_bench.h"

namespace hcasim {
namespace {

using testing::run_for;
using testing::run_until_idle;
using testing::small_cache;

// One line, and `sets` times two entries behind it.
struct two_levels : testing::context_cache_bench {
  explicit two_levels(std::uint32_t sets = 2, const cell_protection& protection = {})
      : testing::context_cache_bench(config(sets), 1 << 16, protection) {}
  static context_cache_config config(std::uint32_t sets) {
    context_cache_config c = small_cache(1, 1);
    c.second_sets = sets;
    c.second_ways = 2;
    c.second_latency = 20;
    return c;
  }
  void write(std::uint32_t index, std::uint64_t value) {
    context_request& r = fetch(index, now());
    run_until_idle();
    r.as<std::uint64_t>() = value;
    release(r, true);
  }
  std::uint64_t value_of(std::uint32_t index) {
    context_request& r = fetch(index, now());
    run_until_idle();
    const std::uint64_t v = r.failed ? ~0ULL : r.as<std::uint64_t>();
    if (!r.failed) release(r);
    return v;
  }
};

TEST(SecondLevel, AnEntryComesBackAfterItsLatency) {
  two_levels b;
  b.touch(1);
  b.touch(2);
  const ps at = now() + 10_ns;
  context_request& r = b.fetch(1, at);
  run_until_idle();
  EXPECT_EQ(b.answered(r), at + 2_ns + 20_ns);
  EXPECT_EQ(r.as<std::uint64_t>(), 7U);
  EXPECT_EQ(b.memory.reads, 2U);
  EXPECT_EQ(b.stat("misses"), 2);
  EXPECT_EQ(b.stat("second_hits"), 1);
  EXPECT_EQ(b.stat("hit_ratio"), 0);
}

TEST(SecondLevel, LinesAndSecondLevelHoldDifferentEntries) {
  two_levels b(1);
  for (int round = 0; round < 4; ++round) {
    for (const std::uint32_t index : {1U, 2U, 3U}) b.touch(index);
  }
  EXPECT_EQ(b.memory.reads, 3U) << "one line and two entries have room for three";
  for (int round = 0; round < 2; ++round) {
    for (const std::uint32_t index : {1U, 2U, 3U, 4U}) b.touch(index);
  }
  EXPECT_EQ(b.memory.reads, 8U) << "of four in turn, the oldest has always made room";
}

TEST(SecondLevel, ADirtyEntryGoesToIcmAndComesBackFromHere) {
  two_levels b;
  b.write(1, 4711);
  const ps t0 = now() + 10_ns;
  context_request& two = b.fetch(2, t0);
  context_request& again = b.fetch(1, t0 + 100_ns);
  run_for(2_us);
  EXPECT_EQ(b.answered(two), t0 + 502_ns);
  b.release(two);
  run_until_idle();
  EXPECT_EQ(again.as<std::uint64_t>(), 4711U);
  EXPECT_EQ(b.memory.get(1), 4711U);
  EXPECT_EQ(b.memory.writes, 1U);
  EXPECT_EQ(b.memory.reads, 2U);
  b.release(again);
  b.touch(2);
  EXPECT_EQ(b.memory.writes, 1U) << "clean since its write";
}

TEST(SecondLevel, ADropForgetsTheEntryInBothLevels) {
  two_levels b;
  b.touch(1);
  b.touch(2);
  b.memory.put(1, 99);
  b.drop(1, now());
  run_until_idle();
  EXPECT_EQ(b.value_of(1), 99U);
}

TEST(SecondLevel, ADropReachesAnEntryOnItsWayBack) {
  two_levels b;
  b.touch(1);
  b.touch(2);
  const ps at = now() + 10_ns;
  context_request& old = b.fetch(1, at);
  b.drop(1, at + 10_ns);
  run_for(1_us);
  b.memory.put(1, 99);
  b.release(old);
  run_until_idle();
  EXPECT_EQ(b.value_of(1), 99U);
}

TEST(SecondLevel, ATakenEntryIsReadAnewWhenItIsGiven) {
  two_levels b;
  b.touch(1);
  b.touch(2);
  b.send(context_op::take, 1, now());
  run_until_idle();
  b.memory.put(1, 99);
  b.send(context_op::give, 1, now());
  EXPECT_EQ(b.value_of(1), 99U);
}

TEST(SecondLevel, BytesOfAFailedWriteAreLostHereToo) {
  two_levels b;
  b.write(1, 4711);
  b.memory.failing = true;
  context_request& two = b.fetch(2, now());
  run_until_idle();
  EXPECT_TRUE(two.failed);
  EXPECT_EQ(b.stat("write_failures"), 1);
  b.memory.failing = false;
  EXPECT_EQ(b.value_of(1), 7U);
}

TEST(SecondLevel, ANewAreaEmptiesIt) {
  two_levels b;
  b.touch(1);
  b.touch(2);
  b.memory.put(1, 99);
  context_request& area = b.make(context_op::set_area, 0);
  area.area_base = testing::area_base;
  area.area_entries = 16;
  b.client.send(area, now());
  run_until_idle();
  EXPECT_EQ(b.value_of(1), 99U);
}

TEST(SecondLevel, ARuinedEntryDoesNotComeHere) {
  two_levels b(2, {.check = icm_check::secded});
  b.write(5, 99);
  b.cache.inject(1, {.count = 1, .length = 0_ps, .draw = 3});
  EXPECT_EQ(b.value_of(5), ~0ULL);
  b.touch(6);
  const unsigned before = b.memory.reads;
  b.value_of(5);
  EXPECT_EQ(b.memory.reads, before + 1);
  EXPECT_EQ(b.memory.ruined, 1U);
}

}  // namespace
}  // namespace hcasim
