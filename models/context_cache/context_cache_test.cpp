#include "models/context_cache/context_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "tlm/base/random.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::fake_target;
using testing::run_for;
using testing::run_until_idle;

constexpr std::uint64_t area_base = 0x100000;
constexpr std::uint32_t entry_bytes = 64;

// ICM behind a DMA port: the bytes move when the answer is given.
class icm : public fake_target<dma_request> {
 public:
  std::vector<std::byte> bytes;
  unsigned reads = 0;
  unsigned writes = 0;
  bool failing = false;

  explicit icm(const sc_core::sc_module_name& n, std::size_t entries = 1 << 16)
      : fake_target<dma_request>(n), bytes(entries * entry_bytes) {
    inline_answers = false;
    latency = 500_ns;
    for (std::size_t i = 0; i < entries; ++i) put(static_cast<std::uint32_t>(i), i * 7);
    serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      EXPECT_EQ(d.bytes, entry_bytes);
      EXPECT_EQ(d.source, dma_source::context);
      d.failed = failing;
      std::byte* at = bytes.data() + (d.address - area_base);
      if (d.op == dma_op::read) {
        ++reads;
        if (!failing) std::memcpy(d.data, at, d.bytes);
      } else {
        ++writes;
        if (!failing) std::memcpy(at, d.data, d.bytes);
      }
    };
  }
  void put(std::uint32_t index, std::uint64_t v) { std::memcpy(bytes.data() + std::size_t{index} * entry_bytes, &v, 8); }
  std::uint64_t get(std::uint32_t index) const {
    std::uint64_t v;
    std::memcpy(&v, bytes.data() + std::size_t{index} * entry_bytes, 8);
    return v;
  }
};

struct bench {
  clock_domain clock{frequency{1e9}};
  context_cache cache;
  icm memory{"icm"};
  fake_initiator<context_request> client{"client"};
  std::deque<context_request> requests;

  explicit bench(const context_cache_config& c, std::uint64_t entries = 1 << 16) : cache("cache", c, clock, entry_bytes, 1) {
    client.out.bind(cache.in[0]);
    cache.dma.bind(memory.in);
    context_request& area = make(context_op::set_area, 0);
    area.area_base = area_base;
    area.area_entries = entries;
    client.send(area, 0_ps);
    run_for(10_ns);
    client.answers.clear();
  }
  context_request& make(context_op op, std::uint32_t index) {
    context_request& r = requests.emplace_back();
    r.op = op;
    r.index = index;
    return r;
  }
  context_request& send(context_op op, std::uint32_t index, ps at) {
    context_request& r = make(op, index);
    client.send(r, at);
    return r;
  }
  context_request& fetch(std::uint32_t index, ps at) { return send(context_op::fetch, index, at); }
  context_request& drop(std::uint32_t index, ps at) { return send(context_op::drop, index, at); }
  void release(context_request& r, bool dirty = false) {
    r.dirty = dirty;
    client.out.release(r);
  }
  // Fetches and gives back at once.
  void touch(std::uint32_t index) {
    context_request& r = fetch(index, now());
    run_until_idle();
    release(r);
  }
  ps answered(const context_request& r) const {
    for (const auto& a : client.answers) {
      if (a.payload == &r) return a.at;
    }
    return never;
  }
  double stat(const std::string& name) const {
    for (const statistic& s : cache.stats().all()) {
      if (s.name != name) continue;
      if (const auto* c = std::get_if<const counter*>(&s.value)) return static_cast<double>((*c)->value());
      if (const auto* f = std::get_if<formula>(&s.value)) return (*f)(now());
    }
    ADD_FAILURE() << "no statistic " << name;
    return -1;
  }
};

context_cache_config small(std::uint32_t sets, std::uint32_t ways) {
  context_cache_config c;
  c.sets = sets;
  c.ways = ways;
  return c;
}

TEST(ContextCache, MissTakesLookUpPlusDma) {
  bench b(small(4, 2));
  context_request& r = b.fetch(5, 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(r), 100_ns + 2_ns + 500_ns);
  EXPECT_EQ(r.as<std::uint64_t>(), 35U);
  EXPECT_EQ(b.memory.requests[0].second, 102_ns);
  EXPECT_EQ(b.memory.requests[0].first->address, area_base + 5 * entry_bytes);
}

TEST(ContextCache, HitTakesTwoCycles) {
  bench b(small(4, 2));
  b.touch(5);
  const ps at = now() + 50_ns;
  context_request& r = b.fetch(5, at);
  run_for(60_ns);
  ASSERT_EQ(b.client.answers.size(), 2U);
  EXPECT_EQ(b.answered(r), at + 2_ns);
  EXPECT_EQ(b.memory.reads, 1U);
}

TEST(ContextCache, OneLookUpPerInterval) {
  context_cache_config c = small(64, 4);
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
  bench b(small(4, 2));
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
  bench b(small(4, 2), 8);
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
  bench b(small(4, 2));
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
  bench b(small(1, 3));
  for (std::uint32_t i : {1U, 2U, 3U, 1U, 4U}) b.touch(i);  // 2 goes
  EXPECT_EQ(b.memory.reads, 4U);
  for (std::uint32_t i : {1U, 3U, 4U}) b.touch(i);
  EXPECT_EQ(b.memory.reads, 4U);
  b.touch(2);
  EXPECT_EQ(b.memory.reads, 5U);
}

TEST(ContextCache, PinnedEntryIsNoVictimAndStaysInPlace) {
  bench b(small(1, 2));
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
  bench b(small(2, 1));
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

TEST(ContextCache, DirtyVictimIsWrittenBackBeforeItIsReadAgain) {
  bench b(small(1, 1));
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
  context_cache_config c = small(1, 2);
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
  bench b(small(4, 2));
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
  bench b(small(4, 2));
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

// Cached, dirty and held; cached; not there; being fetched: whoever takes it has it alone.
TEST(ContextCache, WhatIsTakenIsNobodysUntilItIsGiven) {
  bench b(small(4, 2));
  context_request& held = b.fetch(5, 100_ns);
  run_until_idle();
  b.touch(6);
  context_request& coming = b.fetch(8, now() + 5_ns);
  std::vector<context_request*> takes;
  for (const std::uint32_t index : {5U, 6U, 7U, 8U}) takes.push_back(&b.send(context_op::take, index, now() + 10_ns));
  run_for(1_us);
  EXPECT_EQ(b.answered(*takes[0]), never) << "somebody holds it";
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
  bench b(small(4, 2));
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
  bench b(small(4, 2));
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
  bench b(small(4, 2));
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

TEST(ContextCache, HitUnderMissPassesOrWaits) {
  context_cache_config c = small(4, 2);
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
  bench b(small(4, 2));
  b.touch(1);
  const ps t0 = now() + 10_ns;
  b.fetch(2, t0);
  context_request& hit = b.fetch(1, t0 + 10_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(hit), t0 + 12_ns);
}

// Misses only, F fetches in flight: F / latency (Little), and F are in flight on average.
TEST(ContextCache, MissThroughputIsFetchesOverLatency) {
  context_cache_config c = small(1024, 4);
  c.fetches = 8;
  bench b(c);
  constexpr std::uint32_t n = 2000;
  const ps t0 = now() + 10_ns;
  for (std::uint32_t i = 0; i < n; ++i) b.fetch(i, t0);
  run_until_idle();
  const double seconds = to_seconds(now() - t0);
  EXPECT_NEAR(n / seconds, 8 / 500e-9, 0.02 * 8 / 500e-9);
  double outstanding = 0;
  for (const statistic& s : b.cache.stats().all()) {
    if (s.name == "outstanding") outstanding = std::get<level*>(s.value)->mean(now());
  }
  EXPECT_NEAR(outstanding * to_seconds(now()) / n, 500e-9, 0.02 * 500e-9);
  EXPECT_EQ(b.memory.reads, n);
}

TEST(ContextCache, WriteBuffersBoundEvictions) {
  context_cache_config c = small(64, 1);
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
  bench b(small(1, 1));
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
  context_cache_config c = small(1, 1);
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

// A way becomes free, and before the one that waits for it goes on another miss of the set comes.
TEST(ContextCache, NewcomersQueueBehindThoseThatWaitForAWay) {
  bench b(small(2, 1));
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

// The only fetch ends, and whoever it answers asks for another entry at once: those that wait are first.
TEST(ContextCache, NewcomersQueueBehindThoseThatWaitForAFetch) {
  context_cache_config c = small(64, 4);
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
  context_cache_config c = small(1 << 22, 8);
  bench b(c);
  for (std::uint32_t i = 0; i < 200; ++i) b.touch(i);
  for (std::uint32_t i = 0; i < 200; ++i) b.touch(i);
  EXPECT_EQ(b.memory.reads, 200U);
}

// Two clients at random fetch, write, hold and drop; the reference is what the last holder wrote. DMA takes a random time.
class random_client : public unit {
 public:
  initiator_socket<context_request> out{"out"};

  random_client(const sc_core::sc_module_name& n, std::vector<std::uint64_t>& reference, std::uint64_t seed)
      : unit(n), reference_(reference), random_(seed, name()) {}

  void start(int parallel, int steps) {
    for (int i = 0; i < parallel; ++i) run(steps);
  }
  std::uint64_t done = 0;

 private:
  process run(int steps) {
    context_request r;
    for (int i = 0; i < steps; ++i) {
      const ps pause(static_cast<std::int64_t>(random_.below(300'000)));
      co_await queue_.until(now() + pause);
      ps t = now();
      const auto index = static_cast<std::uint32_t>(random_.below(reference_.size()));
      r.index = index;
      if (random_.chance(0.05)) {
        r.op = context_op::drop;
        co_await out.request(r, t);
        co_await queue_.until(t);
        continue;
      }
      r.op = context_op::fetch;
      co_await out.request(r, t);
      EXPECT_FALSE(r.failed);
      EXPECT_EQ(r.as<std::uint64_t>(), reference_[index]);
      std::byte* const place = r.entry;
      const bool write = random_.chance(0.4);
      if (write) r.as<std::uint64_t>() = reference_[index] = random_.next();
      const ps hold(static_cast<std::int64_t>(random_.below(400'000)));
      co_await queue_.until(now() + hold);
      EXPECT_EQ(r.entry, place);
      EXPECT_EQ(r.as<std::uint64_t>(), reference_[index]);
      r.dirty = write;
      out.release(r);
    }
    ++done;
  }

  std::vector<std::uint64_t>& reference_;
  random_stream random_;
};

class random_icm : public unit {
 public:
  target_socket<dma_request> in{"in"};
  std::vector<std::uint64_t> words;
  unsigned reads = 0;

  random_icm(const sc_core::sc_module_name& n, std::size_t entries, std::uint64_t seed)
      : unit(n), words(entries * 8), random_(seed, "icm") {
    in.on<&random_icm::handle>(this);
  }

 private:
  struct job {
    random_icm* self;
    dma_request* d;
  };
  tlm::tlm_sync_enum handle(dma_request& d, tlm::tlm_phase, ps& t) {
    const ps latency(static_cast<std::int64_t>(random_.below(1'500'000)));
    if (random_.chance(0.1)) {  // at once, in the future or now
      move(d);
      if (random_.chance(0.5)) t += latency;
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &d});
    queue_.at(t + latency, {[](void* j) {
                              auto& [self, request] = *static_cast<job*>(j);
                              self->move(*request);
                              target_socket<dma_request>::respond(*request, now());
                            },
                            &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  void move(dma_request& d) {
    std::byte* at = reinterpret_cast<std::byte*>(words.data()) + (d.address - area_base);
    if (d.op == dma_op::read) {
      ++reads;
      std::memcpy(d.data, at, d.bytes);
    } else {
      std::memcpy(at, d.data, d.bytes);
    }
  }
  random_stream random_;
  std::deque<job> jobs_;
};

class ContextCacheRandom : public ::testing::TestWithParam<std::tuple<replacement_policy, int, int, bool, int>> {};

TEST_P(ContextCacheRandom, EveryFetchSeesTheLastWrite) {
  const auto [policy, sets, ways, hit_under_miss, seed] = GetParam();
  context_cache_config c = small(static_cast<std::uint32_t>(sets), static_cast<std::uint32_t>(ways));
  c.policy = policy;
  c.fetches = 3;
  c.write_buffers = 2;
  c.hit_under_miss = hit_under_miss;
  constexpr std::size_t entries = 40;
  const clock_domain clock{frequency{1e9}};
  context_cache cache("cache", c, clock, entry_bytes, 2);
  random_icm memory("icm", entries, static_cast<std::uint64_t>(seed));
  cache.dma.bind(memory.in);
  std::vector<std::uint64_t> reference(entries);
  for (std::size_t i = 0; i < entries; ++i) memory.words[i * 8] = reference[i] = i * 1001;
  random_client a("a", reference, static_cast<std::uint64_t>(seed));
  random_client b("b", reference, static_cast<std::uint64_t>(seed));
  a.out.bind(cache.in[0]);
  b.out.bind(cache.in[1]);
  run_for(0_ps);
  ps t{0};
  context_request area;
  area.op = context_op::set_area;
  area.area_base = area_base;
  area.area_entries = entries;
  a.out.send(area, t);
  a.start(4, 1500);
  b.start(4, 1500);
  run_until_idle();
  EXPECT_EQ(a.done + b.done, 8U);
  EXPECT_EQ(cache.pinned(), 0U);
  // Nothing is lost: after dropping everything ICM is the reference.
  for (std::uint32_t i = 0; i < entries; ++i) {
    context_request r;
    r.op = context_op::drop;
    r.index = i;
    ps at = now();
    a.out.send(r, at);
    run_for(10_us);
    EXPECT_EQ(memory.words[i * 8], reference[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContextCacheRandom,
                         ::testing::Combine(::testing::ValuesIn(all_replacement_policies), ::testing::Values(1, 3, 4),
                                            ::testing::Values(1, 3), ::testing::Bool(), ::testing::Values(1)),
                         [](const auto& p) {
                           return std::string(replacement_policies.begin()[static_cast<int>(std::get<0>(p.param))]) + "_sets" +
                                  std::to_string(std::get<1>(p.param)) + "_ways" + std::to_string(std::get<2>(p.param)) +
                                  (std::get<3>(p.param) ? "_pass" : "_block");
                         });

TEST(ContextCache, HitIsFast) {
  bench b(small(256, 8));
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
