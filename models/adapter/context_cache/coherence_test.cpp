// Write-backs, drops, takes and areas set anew, while other requests hold or want an entry.
#include "models/adapter/context_cache/context_cache_bench.h"

namespace hcasim {
namespace {

using testing::area_base;
using testing::entry_bytes;
using testing::run_for;
using testing::run_until_idle;
using testing::small_cache;
using bench = testing::context_cache_bench;

TEST(ContextCache, DirtyVictimIsWrittenBackBeforeItIsReadAgain) {
  bench b(small_cache(1, 1));
  context_request& r = b.fetch(1, now());
  run_until_idle();
  r.as<std::uint64_t>() = 4711;
  b.release(r, true);
  const ps t0 = now() + 10_ns;
  context_request& two = b.fetch(2, t0);  // evicts 1
  run_for(10_ns + 600_ns);
  EXPECT_EQ(b.answered(two), t0 + 502_ns);
  EXPECT_EQ(b.memory.get(1), 4711U);
  b.release(two);
  context_request& again = b.fetch(1, now());
  run_until_idle();
  EXPECT_EQ(again.as<std::uint64_t>(), 4711U);
  EXPECT_EQ(b.memory.writes, 1U);
}

TEST(ContextCache, FetchOfAnEntryBeingWrittenBackWaitsForIt) {
  context_cache_config c = small_cache(1, 2);
  bench b(c);
  context_request& one = b.fetch(1, now());
  run_until_idle();
  one.as<std::uint64_t>() = 4711;
  b.release(one, true);
  b.touch(2);
  const ps t0 = now() + 10_ns;
  b.fetch(3, t0);  // evicts 1: write-back in flight until t0 + 502 ns
  context_request& again = b.fetch(1, t0 + 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(again), t0 + 502_ns + 500_ns);
  EXPECT_EQ(again.as<std::uint64_t>(), 4711U);
  EXPECT_EQ(b.stat("stalls_write_back"), 1);
}

TEST(ContextCache, DropWaitsForHoldersAndLaterFetchesReadIcmAnew) {
  bench b(small_cache(4, 2));
  context_request& held = b.fetch(5, 100_ns);
  context_request& also = b.fetch(5, 110_ns);
  run_until_idle();
  b.memory.put(5, 99);
  context_request& dropped = b.drop(5, 1000_ns);
  context_request& later = b.fetch(5, 1010_ns);
  run_for(5_us);
  EXPECT_EQ(b.answered(dropped), never);
  EXPECT_EQ(b.answered(later), never);
  b.release(held);
  run_for(1_us);
  EXPECT_EQ(b.answered(dropped), never);
  const ps freed = now();
  b.release(also);
  run_until_idle();
  EXPECT_EQ(b.answered(dropped), freed);
  EXPECT_EQ(b.answered(later), freed + 500_ns);
  EXPECT_EQ(later.as<std::uint64_t>(), 99U);
}

TEST(ContextCache, DropWritesBackWhatHoldersChanged) {
  bench b(small_cache(4, 2));
  context_request& held = b.fetch(5, 100_ns);
  run_until_idle();
  context_request& dropped = b.drop(5, now());
  run_for(1_us);
  held.as<std::uint64_t>() = 4711;
  const ps freed = now();
  b.release(held, true);
  run_until_idle();
  EXPECT_EQ(b.answered(dropped), freed + 500_ns);
  EXPECT_EQ(b.memory.get(5), 4711U);
}

// Cached, dirty and held; cached; not there; being fetched: a take has it alone.
TEST(ContextCache, ATakenEntryIsHeldAloneUntilItIsGiven) {
  bench b(small_cache(4, 2));
  context_request& held = b.fetch(5, 100_ns);
  run_until_idle();
  b.touch(6);
  context_request& coming = b.fetch(8, now() + 5_ns);
  std::vector<context_request*> takes;
  for (const std::uint32_t index : {5U, 6U, 7U, 8U}) takes.push_back(&b.send(context_op::take, index, now() + 10_ns));
  run_for(1_us);
  EXPECT_EQ(b.answered(*takes[0]), never) << "a request holds it";
  EXPECT_NE(b.answered(*takes[1]), never);
  EXPECT_NE(b.answered(*takes[2]), never);
  EXPECT_EQ(b.answered(*takes[3]), never) << "who asked before has it";
  held.as<std::uint64_t>() = 4711;
  b.release(held, true);
  b.release(coming);
  run_for(2_us);
  EXPECT_EQ(b.memory.get(5), 4711U);
  std::vector<context_request*> later;
  for (const std::uint32_t index : {5U, 6U, 7U, 8U}) {
    EXPECT_NE(b.answered(*takes[index - 5]), never);
    b.memory.put(index, 1000 + index);
    later.push_back(&b.fetch(index, now()));
    b.memory.put(index, 2000 + index);
  }
  run_for(5_us);
  for (context_request* l : later) EXPECT_EQ(b.answered(*l), never);
  for (const std::uint32_t index : {5U, 6U, 7U, 8U}) b.send(context_op::give, index, now());
  run_until_idle();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(b.answered(*later[i]), never);
    EXPECT_EQ(later[i]->as<std::uint64_t>(), 2005 + i) << "as it was given";
  }
}

TEST(ContextCache, DropOfAnEntryBeingFetchedWaitsForItsReader) {
  bench b(small_cache(4, 2));
  context_request& r = b.fetch(5, 100_ns);
  context_request& dropped = b.drop(5, 200_ns);
  context_request& later = b.fetch(5, 300_ns);
  run_for(2_us);
  EXPECT_EQ(b.answered(r), 602_ns);
  EXPECT_EQ(b.answered(dropped), never);
  const ps freed = now();
  b.release(r);
  run_until_idle();
  EXPECT_EQ(b.answered(dropped), freed);
  EXPECT_EQ(b.answered(later), freed + 500_ns);
  EXPECT_EQ(b.memory.reads, 2U);
}

TEST(ContextCache, DropOfNothingOrCleanIsAnsweredAtOnce) {
  bench b(small_cache(4, 2));
  b.touch(5);
  const ps t0 = now() + 10_ns;
  context_request& d1 = b.drop(5, t0);
  context_request& d2 = b.drop(6, t0 + 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(d1), t0 + 2_ns);
  EXPECT_EQ(b.answered(d2), t0 + 102_ns);
  b.touch(5);
  EXPECT_EQ(b.memory.reads, 2U);
}

TEST(ContextCache, SetAreaWaitsAndForgetsEverything) {
  bench b(small_cache(4, 2));
  context_request& held = b.fetch(1, now());
  run_until_idle();
  context_request& area = b.make(context_op::set_area, 0);
  area.area_base = area_base + 64 * entry_bytes;
  area.area_entries = 100;
  b.client.send(area, now());
  context_request& later = b.fetch(1, now() + 5_ns);
  run_for(2_us);
  EXPECT_EQ(b.answered(area), never);
  EXPECT_EQ(b.answered(later), never);
  b.release(held, true);
  run_until_idle();
  EXPECT_NE(b.answered(area), never);
  EXPECT_EQ(later.as<std::uint64_t>(), 65U * 7U);
  EXPECT_EQ(b.memory.writes, 0U);
}

}  // namespace
}  // namespace hcasim
