// Lookups and walks: exact times, answers, throughput.
#include <chrono>
#include <cstdio>

#include "models/adapter/page_walker/page_walker_bench.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = page_walker_bench;

TEST(PageWalker, ColdWalkReadsOneEntryPerLevel) {
  bench b;
  ps at = 1_us;
  for (unsigned levels = 1; levels <= 4; ++levels) {
    const translation m = table(levels, levels);
    b.memory.map(m, 300, 0xabc000);
    const std::size_t before = b.reads();
    translate_request& r = b.walk(m, m.table_va + 300 * 4096 + 0x123, 16, at);
    run_for(at + 10_us - now());
    EXPECT_EQ(b.reads() - before, levels);
    EXPECT_EQ(b.answered(r), at + 3_ns + levels * 500_ns);
    EXPECT_EQ(r.status, translate_status::ok);
    EXPECT_EQ(r.physical, 0xabc123U);
    EXPECT_EQ(r.bytes, 16U);
    EXPECT_EQ(b.memory.requests.back().first->bytes, 64U);
    at += 10_us;
  }
}

TEST(PageWalker, HitTakesThreeCycles) {
  bench b;
  const translation m = table(1, 3);
  b.memory.map(m, 9, 0x9000);
  b.walk_page(m, 9, 1_us);
  translate_request& hit = b.walk_page(m, 9, 10_us);
  run_until_idle();
  EXPECT_EQ(b.answered(hit), 10'003_ns);
  EXPECT_EQ(hit.physical, 0x9000U);
  EXPECT_EQ(b.reads(), 3U);
}

TEST(PageWalker, OneLookUpPerCycle) {
  bench b;
  const translation m = table(1, 1);
  b.memory.map(m, 0, 0x9000);
  b.walk_page(m, 0, 1_us);
  run_until_idle();
  constexpr int n = 5000;
  for (int i = 0; i < n; ++i) b.walk_page(m, 0, 10_us);
  run_until_idle();
  EXPECT_EQ(b.answered(b.requests.back()), 10_us + ps((n - 1) * 1000) + 3_ns);
}

TEST(PageWalker, ALineHoldsItsNeighbours) {
  bench b;
  const translation m = table(1, 2);
  for (std::uint64_t p = 0; p < 32; ++p) b.memory.map(m, p, p << 20);
  ps at = 1_us;
  for (std::uint64_t p = 0; p < 32; ++p) {
    translate_request& r = b.walk_page(m, p, at += 10_us);
    run_for(at + 5_us - now());
    EXPECT_EQ(r.physical, p << 20);
  }
  EXPECT_EQ(b.reads(), 1U + 32 / 8);
}

TEST(PageWalker, LineOfOneReadsEightBytes) {
  page_walker_config c;
  c.line = pte_line::one;
  bench b(c);
  const translation m = table(1, 1);
  for (std::uint64_t p = 0; p < 16; ++p) b.memory.map(m, p, p << 20);
  for (std::uint64_t p = 0; p < 16; ++p) b.walk_page(m, p, ps(1'000'000 * static_cast<std::int64_t>(p + 1)));
  run_until_idle();
  EXPECT_EQ(b.reads(), 16U);
  EXPECT_EQ(b.memory.requests[3].first->bytes, 8U);
}

TEST(PageWalker, UpperCachesSkipWhatTheyKnow) {
  page_walker_config c;
  bench b(c);
  const translation m = table(1, 4);
  const std::uint64_t near = 8, same_mid = 512 * 3, same_top = 512ULL * 512 * 5, far = 512ULL * 512 * 512 * 7;
  for (std::uint64_t p : {std::uint64_t{0}, near, same_mid, same_top, far}) b.memory.map(m, p, 0x1000);
  std::vector<std::size_t> reads;
  ps at = 1_us;
  for (std::uint64_t p : {std::uint64_t{0}, near, same_mid, same_top, far}) {
    const std::size_t before = b.reads();
    b.walk_page(m, p, at += 10_us);
    run_for(at + 5_us - now());
    reads.push_back(b.reads() - before);
  }
  EXPECT_EQ(reads, (std::vector<std::size_t>{4, 1, 2, 3, 4}));
  EXPECT_EQ(b.count("upper_hits_level_1"), 1U);
  EXPECT_EQ(b.count("upper_hits_level_2"), 1U);
  EXPECT_EQ(b.count("upper_hits_level_3"), 1U);
}

TEST(PageWalker, PhysicalMapNeedsNoTable) {
  bench b;
  translation m = table(1, 0);
  translate_request& r = b.walk(m, 0xffff'ffff'0000'0000, 1ULL << 31, 1_us);
  run_until_idle();
  EXPECT_EQ(r.physical, 0xffff'ffff'0000'0000U);
  EXPECT_EQ(r.bytes, 1ULL << 31);
  EXPECT_EQ(b.answered(r), 1003_ns);
  EXPECT_EQ(b.reads(), 0U);
}

TEST(PageWalker, NullAndImpossibleMapsGiveNoAddress) {
  bench b;
  translation null = table(1, 0);
  null.null = true;
  translate_request& r1 = b.walk(null, 0x1000, 8, 1_us);
  translate_request& r2 = b.walk(table(1, 5), 0x1000, 8, 2_us);
  translate_request& r3 = b.walk(table(1, 1, 11), 0x1000, 8, 3_us);
  run_until_idle();
  EXPECT_EQ(r1.status, translate_status::not_present);
  EXPECT_EQ(r2.status, translate_status::table_error);
  EXPECT_EQ(r3.status, translate_status::table_error);
  EXPECT_EQ(b.reads(), 0U);
}

TEST(PageWalker, AnswerEndsAtThePage) {
  bench b;
  ps at = 1_us;
  for (unsigned shift : {12U, 16U, 21U, 30U}) {
    const translation m = table(shift, 1, shift);
    const std::uint64_t page = 1ULL << shift;
    b.memory.map(m, 3, 0x40'0000'0000);
    for (std::uint64_t left : {std::uint64_t{1}, std::uint64_t{8}, page}) {
      translate_request& r = b.walk(m, m.table_va + 4 * page - left, ~0ULL, at);
      translate_request& some = b.walk(m, m.table_va + 4 * page - left, 5, at + 5_us);
      run_for(10_us);
      EXPECT_EQ(r.bytes, left);
      EXPECT_EQ(some.bytes, std::min<std::uint64_t>(left, 5));
      EXPECT_EQ(r.physical, 0x40'0000'0000 + page - left);
      at = now() + 1_us;
    }
  }
}

TEST(PageWalker, NotPresentIsNotCached) {
  bench b;
  const translation m = table(1, 2);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 1, 0x2000, false);
  translate_request& leaf = b.walk_page(m, 1, 1_us);
  translate_request& neighbour = b.walk_page(m, 0, 10_us);
  translate_request& upper = b.walk_page(m, 512 * 9, 20_us);
  run_until_idle();
  EXPECT_EQ(leaf.status, translate_status::not_present);
  EXPECT_EQ(leaf.bytes, 0U);
  EXPECT_EQ(upper.status, translate_status::not_present);
  EXPECT_EQ(b.answered(upper), 20_us + 3_ns + 500_ns);
  EXPECT_EQ(neighbour.status, translate_status::ok);
  EXPECT_EQ(b.answered(neighbour), 10'003_ns);
  b.memory.map(m, 1, 0x2000);
  b.memory.map(m, 512 * 9, 0x3000);
  const ps at = now() + 1_us;
  translate_request& now_there = b.walk_page(m, 1, at);
  translate_request& also = b.walk_page(m, 512 * 9, at + 5_us);
  run_until_idle();
  EXPECT_EQ(now_there.physical, 0x2000U);
  EXPECT_EQ(also.physical, 0x3000U);
  EXPECT_EQ(b.count("not_present"), 2U);
}

TEST(PageWalker, FailedReadIsATableErrorForAllWhoWait) {
  bench b;
  const translation m = table(1, 2);
  b.memory.map(m, 0, 0x1000);
  b.memory.fails_at = m.table;
  translate_request& r1 = b.walk_page(m, 0, 1_us);
  translate_request& r2 = b.walk_page(m, 1, 1100_ns);
  run_until_idle();
  EXPECT_EQ(r1.status, translate_status::table_error);
  EXPECT_EQ(r2.status, translate_status::table_error);
  EXPECT_EQ(b.reads(), 1U);
  b.memory.fails_at = ~0ULL;
  translate_request& r3 = b.walk_page(m, 0, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(r3.status, translate_status::ok);
}

TEST(PageWalker, EqualMissesShareOneWalk) {
  page_walker_config c;
  c.walkers = 1;
  bench b(c);
  const translation m = table(1, 3);
  const translation other = table(2, 3);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 5, 0x2000);
  b.memory.map(other, 0, 0x3000);
  translate_request& first = b.walk_page(m, 0, 1_us);
  translate_request& waits = b.walk_page(other, 0, 1100_ns);
  translate_request& joins = b.walk_page(m, 5, 1200_ns);
  translate_request& joins_waiting = b.walk_page(other, 0, 1300_ns);
  run_until_idle();
  EXPECT_EQ(b.reads(), 6U);
  EXPECT_EQ(b.answered(first), 1003_ns + 1500_ns);
  EXPECT_EQ(b.answered(joins), 1003_ns + 1500_ns);
  EXPECT_EQ(joins.physical, 0x2000U);
  EXPECT_EQ(b.answered(waits), 1003_ns + 3000_ns);
  EXPECT_EQ(b.answered(joins_waiting), 1003_ns + 3000_ns);
  EXPECT_EQ(b.count("merged"), 2U);
}

// Without hit_under_miss a hit waits for the walk before it; a physical map does not.
TEST(PageWalker, AMissMayStopTheHitsBehindIt) {
  page_walker_config c;
  c.hit_under_miss = false;
  bench b(c);
  const translation m = table(1, 1);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 64, 0x2000);
  b.memory.map(m, 128, 0x3000);
  b.walk_page(m, 0, 1_us);
  run_until_idle();
  const ps t = 3_us;
  translate_request& misses = b.walk_page(m, 64, t);
  translate_request& hits = b.walk_page(m, 0, t);
  translate_request& misses_too = b.walk_page(m, 128, t);
  translate_request& physical = b.walk_page(translation{}, 5, t);
  run_until_idle();
  EXPECT_EQ(b.answered(misses), t + 3_ns + 500_ns);
  EXPECT_EQ(b.answered(hits), b.answered(misses));
  EXPECT_EQ(b.answered(misses_too), t + 3_ns + 1000_ns);
  EXPECT_LT(b.answered(physical), t + 10_ns);
  EXPECT_EQ(hits.physical, 0x1000U);
  EXPECT_EQ(misses_too.physical, 0x3000U);
}

// Lines that all miss, W walkers, L levels: W / (L * latency); and Little's law on the waiting misses.
TEST(PageWalker, ThroughputIsWalkersOverLevelsTimesLatency) {
  page_walker_config c;
  c.walkers = 3;
  c.mshrs = 16;
  c.upper_entries = 0;
  bench b(c);
  const translation m = table(1, 3);
  constexpr std::uint64_t n = 1500;
  for (std::uint64_t i = 0; i < n; ++i) b.memory.map(m, i * 8, i << 12);
  const ps t0 = 1_us;
  for (std::uint64_t i = 0; i < n; ++i) b.walk_page(m, i * 8, t0);
  run_until_idle();
  const double seconds = to_seconds(now() - t0);
  EXPECT_NEAR(n / seconds, 3 / (3 * 500e-9), 0.02 * 3 / (3 * 500e-9));
  EXPECT_EQ(b.reads(), 3 * n);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(b.requests[i].physical, i << 12);
  // Line i has a walker from round i / 3 on, so its requests wait i / 3 rounds.
  const double waited = value_of(b.walker, "queued") * to_seconds(now());
  EXPECT_NEAR(waited / n, (n / 3.0) / 2 * 1500e-9, 0.02 * (n / 3.0) / 2 * 1500e-9);
  EXPECT_NEAR(value_of(b.walker, "walkers_busy") * to_seconds(now()) / seconds, 3, 0.06);
}

TEST(PageWalker, AFlatListMayBeLongerThanANode) {
  bench b;
  translation m = table(HCA_TAG_SQ | 5, 1);
  m.table_va = 0;
  b.memory.map(m, 2000, 0x5000);
  translate_request& r = b.walk(m, 2000 * 4096 + 64, 64, 1_us);
  run_until_idle();
  EXPECT_EQ(r.physical, 0x5040U);
  EXPECT_EQ(b.memory.requests[0].second, 1003_ns);
  EXPECT_EQ(b.memory.requests[0].first->address, m.table + 2000 * 8);
}

// The table begins at the end of the address space and wraps.
TEST(PageWalker, SumsAreModulo64Bits) {
  bench b;
  translation m = table(1, 2);
  m.table_va = ~0ULL - 4095;
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 1, 0x2000);
  translate_request& before = b.walk(m, ~0ULL, 10, 1_us);
  translate_request& behind = b.walk(m, 5, 10, 10_us);
  b.drop(1, 0, 10, 20_us);
  run_until_idle();
  EXPECT_EQ(before.physical, 0x1fffU);
  EXPECT_EQ(before.bytes, 1U);
  EXPECT_EQ(behind.physical, 0x2005U);
  EXPECT_EQ(b.count("dropped_entries"), 2U);
}

// Random tables, sizes, requests, changes with drops, and DMA times: every answer equals the untimed translation of the moment
// it was asked for. Entries that change are first dropped while no walk uses them, as the adapter does after a drain.
class PageWalkerRandom : public ::testing::TestWithParam<std::tuple<pte_line, replacement_policy, int, int>> {};

TEST_P(PageWalkerRandom, EqualsTheUntimedTranslation) {
  const auto [line, policy, upper, second] = GetParam();
  page_walker_config c;
  c.line = line;
  c.policy = policy;
  c.leaf_sets = 3;
  c.leaf_ways = 3;
  c.upper_entries = static_cast<std::uint32_t>(upper);
  c.walkers = 2;
  c.mshrs = 4;
  c.second_sets = static_cast<std::uint32_t>(second);
  c.second_ways = 2;
  bench b(c);
  random_stream random(11, "walker");
  struct area {
    translation m;
    std::vector<std::uint64_t> pages;
    std::unordered_map<std::uint64_t, std::uint64_t> truth;
  };
  std::vector<area> areas;
  const unsigned shifts[4] = {12, 16, 21, 30};
  for (std::uint32_t i = 0; i < 6; ++i) {
    area a;
    a.m = table(i + 1, 1 + i % 4, shifts[i % 4]);
    a.m.table_va = random.next() << a.m.page_shift;
    const unsigned bits = std::min(9U * a.m.levels, 63U - a.m.page_shift);
    for (int p = 0; p < 40; ++p) {
      std::uint64_t page = random.next() & ((1ULL << bits) - 1);
      if (p % 2) page = a.pages.back() ^ random.below(16);
      a.pages.push_back(page);
      a.truth[page] = random.next() & 0x000f'ffff'ffff'f000;
      b.memory.map(a.m, page, a.truth[page]);
    }
    areas.push_back(std::move(a));
  }
  for (int round = 0; round < 60; ++round) {
    const std::size_t first = b.requests.size();
    const ps start = now() + 1_us;
    for (int i = 0; i < 40; ++i) {
      area& a = areas[random.below(areas.size())];
      const std::uint64_t page = a.pages[random.below(a.pages.size())];
      const std::uint64_t offset = random.below(1ULL << a.m.page_shift);
      b.walk(a.m, a.m.table_va + (page << a.m.page_shift) + offset, 1 + random.below(10000),
             start + ps(static_cast<std::int64_t>(random.below(3'000'000))));
    }
    b.memory.latency = ps(static_cast<std::int64_t>(random.below(900'000)));
    run_until_idle();
    ASSERT_EQ(b.client.answers.size(), b.requests.size());
    for (std::size_t i = first; i < b.requests.size(); ++i) {
      const translate_request& r = b.requests[i];
      area& a = areas[r.map.index - 1];
      const std::uint64_t page = geometry::page_number(r.map, r.va);
      const std::uint64_t offset = geometry::page_offset(r.map, r.va);
      const auto known = a.truth.find(page);
      if (known == a.truth.end()) {
        ASSERT_EQ(r.status, translate_status::not_present);
        continue;
      }
      ASSERT_EQ(r.status, translate_status::ok);
      ASSERT_EQ(r.physical, known->second + offset);
      ASSERT_EQ(r.bytes, std::min<std::uint64_t>(r.length, (1ULL << a.m.page_shift) - offset));
    }
    // Change some pages, and drop exactly them.
    for (int i = 0; i < 5; ++i) {
      area& a = areas[random.below(areas.size())];
      const std::uint64_t page = a.pages[random.below(a.pages.size())];
      const bool there = random.chance(0.7);
      const std::uint64_t physical = random.next() & 0x000f'ffff'ffff'f000;
      b.memory.map(a.m, page, physical, there);
      a.truth.erase(page);
      if (there) a.truth[page] = physical;
      const std::uint64_t va = a.m.table_va + (page << a.m.page_shift);
      translate_request& d = b.drop(a.m.index, va, va + ((1ULL << a.m.page_shift) - 1), now() + 1_us);
      run_until_idle();
      ASSERT_NE(b.answered(d), never);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PageWalkerRandom,
                         ::testing::Combine(::testing::Values(pte_line::one, pte_line::four, pte_line::eight),
                                            ::testing::ValuesIn(all_replacement_policies), ::testing::Values(0, 1, 9),
                                            ::testing::Values(0, 5)),
                         [](const auto& p) {
                           return "line" + std::to_string(entries_in(std::get<0>(p.param))) + "_" +
                                  std::string(replacement_policies.begin()[static_cast<int>(std::get<1>(p.param))]) + "_upper" +
                                  std::to_string(std::get<2>(p.param)) + (std::get<3>(p.param) ? "_second" : "");
                         });

TEST(PageWalker, WorksWithAnswersInTheCall) {
  bench b;
  b.memory.inline_answers = true;
  b.memory.latency = 0_ps;
  const translation m = table(1, 4);
  b.memory.map(m, 7, 0x7000);
  translate_request& r = b.walk_page(m, 7, 1_us);
  run_until_idle();
  EXPECT_EQ(r.physical, 0x7000U);
  b.memory.latency = 100_ns;
  const translation m2 = table(2, 4);
  b.memory.map(m2, 7, 0x8000);
  translate_request& r2 = b.walk_page(m2, 7, 2_us);
  run_until_idle();
  EXPECT_EQ(b.answered(r2), 2003_ns + 400_ns);
}

TEST(PageWalker, AMissIsAcceptedBeforeItIsAnswered) {
  page_walker_config c;
  c.hit_latency = 0;
  bench b(c);
  b.memory.inline_answers = true;
  b.memory.latency = 0_ps;
  translate_request& r = b.requests.emplace_back();
  r.map = table(1, 2);
  r.va = r.map.table_va;
  r.length = 1;
  b.memory.map(r.map, 0, 0x1000);
  bool answered = false;
  r.context = &answered;
  r.on_response = [](void* flag, transaction&, ps) { *static_cast<bool*>(flag) = true; };
  ps t = now();
  EXPECT_EQ(b.client.out.send(r, t), tlm::TLM_ACCEPTED);
  EXPECT_FALSE(answered);
  run_until_idle();
  EXPECT_TRUE(answered);
}

TEST(PageWalker, HitIsFast) {
  page_walker_config c;
  bench b(c);
  const translation m = table(1, 2);
  for (std::uint64_t p = 0; p < 512; ++p) {
    b.memory.map(m, p, p << 12);
    b.walk_page(m, p, ps(static_cast<std::int64_t>(p + 1) * 1'000'000));
  }
  run_until_idle();
  translate_request r;
  r.map = m;
  r.length = 64;
  constexpr unsigned n = testing::optimised ? 3'000'000 : 50'000;
  ps t = now();
  unsigned completed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n; ++i) {
    r.va = m.table_va + ((i * 37 % 512) << 12);
    completed += b.client.out.send_ahead(r, t) == tlm::TLM_COMPLETED;
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns per hit\n", took.count() / n);
  EXPECT_EQ(completed, n);
  if (testing::optimised) {
    EXPECT_LT(took.count() / n, 2000);
  }
}

}  // namespace
}  // namespace hcasim
