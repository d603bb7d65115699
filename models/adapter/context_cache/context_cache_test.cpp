// Times of lookups, and which requests wait for which.
#include "models/adapter/context_cache/context_cache_bench.h"

#include <chrono>
#include <cstdio>

namespace hcasim {
namespace {

using testing::area_base;
using testing::entry_bytes;
using testing::run_for;
using testing::run_until_idle;
using testing::small_cache;
using bench = testing::context_cache_bench;

TEST(ContextCache, MissTakesLookUpPlusDma) {
  bench b(small_cache(4, 2));
  context_request& r = b.fetch(5, 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(r), 100_ns + 2_ns + 500_ns);
  EXPECT_EQ(r.as<std::uint64_t>(), 35U);
  EXPECT_EQ(b.memory.requests[0].second, 102_ns);
  EXPECT_EQ(b.memory.requests[0].first->address, area_base + 5 * entry_bytes);
}

TEST(ContextCache, HitTakesTwoCycles) {
  bench b(small_cache(4, 2));
  b.touch(5);
  const ps at = now() + 50_ns;
  context_request& r = b.fetch(5, at);
  run_for(60_ns);
  ASSERT_EQ(b.client.answers.size(), 2U);
  EXPECT_EQ(b.answered(r), at + 2_ns);
  EXPECT_EQ(b.memory.reads, 1U);
}

TEST(ContextCache, OneLookUpPerInterval) {
  context_cache_config c = small_cache(64, 4);
  c.issue_interval = 3;
  bench b(c);
  b.touch(5);
  const ps at = now() + 50_ns;
  std::vector<context_request*> all;
  for (int i = 0; i < 1000; ++i) all.push_back(&b.fetch(5, at));
  run_until_idle();
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(b.answered(*all[i]), at + 2_ns + 3_ns * static_cast<std::int64_t>(i));
}

TEST(ContextCache, EqualMissesShareOneRead) {
  bench b(small_cache(4, 2));
  std::vector<context_request*> all;
  for (int i = 0; i < 10; ++i) all.push_back(&b.fetch(9, 100_ns + ps(i * 20'000)));
  run_until_idle();
  EXPECT_EQ(b.memory.reads, 1U);
  for (auto* r : all) {
    EXPECT_EQ(b.answered(*r), 602_ns);
    EXPECT_EQ(r->entry, all[0]->entry);
    EXPECT_EQ(r->as<std::uint64_t>(), 63U);
  }
  EXPECT_EQ(b.cache.pinned(), 10U);
  EXPECT_EQ(b.stat("misses"), 1);
  EXPECT_EQ(b.stat("merged"), 9);
}

TEST(ContextCache, IndexBeyondTheAreaFailsAtOnce) {
  bench b(small_cache(4, 2), 8);
  context_request& r = b.fetch(8, 100_ns);
  context_request& last = b.fetch(0xffffffff, 200_ns);
  context_request& good = b.fetch(7, 300_ns);
  run_until_idle();
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(last.failed);
  EXPECT_EQ(r.area_entries, 8U);
  EXPECT_EQ(b.answered(r), 102_ns);
  EXPECT_FALSE(good.failed);
  EXPECT_EQ(b.memory.reads, 1U);
  EXPECT_EQ(b.cache.pinned(), 1U);
}

TEST(ContextCache, FailedReadIsReportedAndNotKept) {
  bench b(small_cache(4, 2));
  b.memory.failing = true;
  context_request& r1 = b.fetch(1, 100_ns);
  context_request& r2 = b.fetch(1, 120_ns);
  run_until_idle();
  EXPECT_TRUE(r1.failed && r2.failed);
  EXPECT_EQ(r1.entry, nullptr);
  EXPECT_EQ(b.cache.pinned(), 0U);
  b.release(r1);  // harmless
  b.memory.failing = false;
  context_request& r3 = b.fetch(1, now());
  run_until_idle();
  EXPECT_FALSE(r3.failed);
  EXPECT_EQ(r3.as<std::uint64_t>(), 7U);
  EXPECT_EQ(b.memory.reads, 2U);
}

TEST(ContextCache, LruEvictsTheLongestUnused) {
  bench b(small_cache(1, 3));
  for (std::uint32_t i : {1U, 2U, 3U, 1U, 4U}) b.touch(i);  // 2 goes
  EXPECT_EQ(b.memory.reads, 4U);
  for (std::uint32_t i : {1U, 3U, 4U}) b.touch(i);
  EXPECT_EQ(b.memory.reads, 4U);
  b.touch(2);
  EXPECT_EQ(b.memory.reads, 5U);
}

TEST(ContextCache, PinnedEntryIsNoVictimAndStaysInPlace) {
  bench b(small_cache(1, 2));
  context_request& held = b.fetch(1, now());
  run_until_idle();
  const std::byte* place = held.entry;
  for (std::uint32_t i = 2; i < 20; ++i) b.touch(i);
  EXPECT_EQ(held.entry, place);
  EXPECT_EQ(held.as<std::uint64_t>(), 7U);
  const unsigned reads = b.memory.reads;
  b.touch(1);
  EXPECT_EQ(b.memory.reads, reads);
}

TEST(ContextCache, MissWaitsWhileTheWholeSetIsHeldAndOthersPass) {
  bench b(small_cache(2, 1));
  context_request& held = b.fetch(2, 100_ns);
  run_until_idle();
  context_request& first = b.fetch(4, 1000_ns);
  context_request& second = b.fetch(6, 1001_ns);
  context_request& other_set = b.fetch(3, 1002_ns);
  run_for(5_us);
  EXPECT_EQ(b.answered(first), never);
  EXPECT_EQ(b.answered(other_set), 1504_ns);
  EXPECT_EQ(b.stat("stalls_no_victim"), 2);
  const ps freed = now();
  b.release(held);
  run_until_idle();
  EXPECT_EQ(b.answered(first), freed + 1_ns + 500_ns) << "it tries again in the cycle after";
  EXPECT_EQ(b.answered(second), never);
  b.release(first);
  run_until_idle();
  EXPECT_EQ(second.as<std::uint64_t>(), 42U);
}

TEST(ContextCache, HitUnderMissPassesOrWaits) {
  context_cache_config c = small_cache(4, 2);
  c.hit_under_miss = false;
  bench b(c);
  b.touch(1);
  const ps t0 = now() + 10_ns;
  context_request& miss = b.fetch(2, t0);
  context_request& hit = b.fetch(1, t0 + 10_ns);
  context_request& second_miss = b.fetch(3, t0 + 20_ns);
  context_request& last = b.fetch(1, t0 + 30_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(miss), t0 + 502_ns);
  EXPECT_EQ(b.answered(hit), t0 + 502_ns);
  EXPECT_EQ(b.answered(second_miss), t0 + 1002_ns);
  EXPECT_EQ(b.answered(last), t0 + 1002_ns);
}

TEST(ContextCache, HitUnderMissPasses) {
  bench b(small_cache(4, 2));
  b.touch(1);
  const ps t0 = now() + 10_ns;
  b.fetch(2, t0);
  context_request& hit = b.fetch(1, t0 + 10_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(hit), t0 + 12_ns);
}

// Misses only, F fetches in flight: F / latency (Little), and F are in flight on average.
TEST(ContextCache, MissThroughputIsFetchesOverLatency) {
  context_cache_config c = small_cache(1024, 4);
  c.fetches = 8;
  bench b(c);
  constexpr std::uint32_t n = 2000;
  const ps t0 = now() + 10_ns;
  for (std::uint32_t i = 0; i < n; ++i) b.fetch(i, t0);
  run_until_idle();
  const double seconds = to_seconds(now() - t0);
  EXPECT_NEAR(n / seconds, 8 / 500e-9, 0.02 * 8 / 500e-9);
  EXPECT_NEAR(b.stat("outstanding") * to_seconds(now()) / n, 500e-9, 0.02 * 500e-9);
  EXPECT_EQ(b.memory.reads, n);
}

TEST(ContextCache, WriteBuffersBoundEvictions) {
  context_cache_config c = small_cache(64, 1);
  c.fetches = 16;
  c.write_buffers = 2;
  bench b(c);
  std::vector<context_request*> all;
  for (std::uint32_t i = 0; i < 64; ++i) all.push_back(&b.fetch(i, now()));
  run_until_idle();
  for (auto* r : all) b.release(*r, true);
  const ps t0 = now();
  for (std::uint32_t i = 64; i < 128; ++i) b.fetch(i, t0);
  run_until_idle();
  // Two write-backs at a time: 32 rounds, and the last read starts with its write.
  EXPECT_NEAR(to_ns(now() - t0), 32 * 500, 0.02 * 32 * 500);
  EXPECT_EQ(b.memory.writes, 64U);
}

TEST(ContextCache, AnswersNeverComeInsideTheCallOfAMissEvenWithoutLatency) {
  bench b(small_cache(1, 1));
  b.memory.inline_answers = true;
  b.memory.latency = 0_ps;
  for (int i = 0; i < 10; ++i) {
    context_request& r = b.fetch(static_cast<std::uint32_t>(i), now());
    run_until_idle();
    ASSERT_NE(b.answered(r), never);
    b.release(r, true);
    context_request& d = b.drop(static_cast<std::uint32_t>(i), now());
    run_until_idle();
    ASSERT_NE(b.answered(d), never);
  }
  EXPECT_EQ(b.memory.writes, 10U);
}

TEST(ContextCache, AMissIsAcceptedBeforeItIsAnswered) {
  context_cache_config c = small_cache(1, 1);
  c.hit_latency = 0;
  bench b(c);
  run_for(10_ns);
  b.memory.inline_answers = true;
  b.memory.latency = 0_ps;
  context_request& r = b.make(context_op::fetch, 3);
  bool answered = false;
  r.context = &answered;
  r.on_response = [](void* flag, transaction&, ps) { *static_cast<bool*>(flag) = true; };
  ps t = now();
  EXPECT_EQ(b.client.out.send(r, t), tlm::TLM_ACCEPTED);
  EXPECT_FALSE(answered);
  run_until_idle();
  EXPECT_TRUE(answered);
}

// A way becomes free, and another miss of the set comes before the stalled request goes on.
TEST(ContextCache, NewcomersQueueBehindThoseThatWaitForAWay) {
  bench b(small_cache(2, 1));
  context_request& held = b.fetch(2, now());
  run_until_idle();
  context_request& first = b.fetch(4, now() + 10_ns);
  run_for(1_us);
  b.release(held);
  context_request& newcomer = b.make(context_op::fetch, 6);
  ps t = now();
  EXPECT_EQ(b.client.out.send(newcomer, t), tlm::TLM_ACCEPTED);
  run_until_idle();
  EXPECT_NE(b.answered(first), never);
  EXPECT_EQ(newcomer.entry, nullptr);
}

// The only fetch ends, and its requester asks for another entry at once: waiting requests are first.
TEST(ContextCache, NewcomersQueueBehindThoseThatWaitForAFetch) {
  context_cache_config c = small_cache(64, 4);
  c.fetches = 1;
  bench b(c);
  struct greedy {
    bench& b;
    context_request& next;
  } again{b, b.make(context_op::fetch, 3)};
  context_request& first = b.make(context_op::fetch, 1);
  first.context = &again;
  first.on_response = [](void* self, transaction&, ps at) {
    auto& g = *static_cast<greedy*>(self);
    ps t = at;
    g.b.client.out.send(g.next, t);
  };
  ps t = now();
  b.client.out.send(first, t);
  context_request& waits = b.fetch(2, now() + 10_ns);
  run_until_idle();
  EXPECT_LT(b.answered(waits), again.next.answered_at);
}

TEST(ContextCache, HugeCapacityCostsWhatIsUsed) {
  context_cache_config c = small_cache(1 << 22, 8);
  bench b(c);
  for (std::uint32_t i = 0; i < 200; ++i) b.touch(i);
  for (std::uint32_t i = 0; i < 200; ++i) b.touch(i);
  EXPECT_EQ(b.memory.reads, 200U);
}

TEST(ContextCache, HitIsFast) {
  bench b(small_cache(256, 8));
  for (std::uint32_t i = 0; i < 1024; ++i) b.touch(i);
  context_request r;
  constexpr unsigned n = testing::optimised ? 5'000'000 : 50'000;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t completed = 0;
  ps t = now();
  for (unsigned i = 0; i < n; ++i) {
    r.index = i * 7 % 1024;
    completed += b.client.out.send_ahead(r, t) == tlm::TLM_COMPLETED;
    b.client.out.release(r);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns per hit, fetch and release\n", took.count() / n);
  EXPECT_EQ(completed, n);
  if (testing::optimised) {
    EXPECT_LT(took.count() / n, 2000);
  }
}

}  // namespace
}  // namespace hcasim
