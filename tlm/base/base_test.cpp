// The plain parts of the base: containers, statistics, random numbers, quantities, the closed-form server.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <cmath>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <new>
#include <set>
#include <utility>

#include "tlm/base/clock_domain.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/pool.h"
#include "tlm/base/random.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/statistics.h"

namespace hcasim {
namespace {

TEST(Pool, RecyclesAndKeepsAddresses) {
  pool<int> p;
  int& a = p.get();
  int& b = p.get();
  EXPECT_NE(&a, &b);
  EXPECT_EQ(p.in_use(), 2U);
  p.put(a);
  EXPECT_EQ(&p.get(), &a);
  EXPECT_EQ(p.allocated(), 2U);
  std::set<int*> all{&a, &b};
  for (int i = 0; i < 1000; ++i) all.insert(&p.get());
  EXPECT_EQ(all.size(), 1002U);
}

TEST(Pool, LoansComeBackByThemselves) {
  pool<int> p;
  {
    pooled<int> a(p);
    *a = 5;
    pooled<int> b = std::move(a);
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): the state after a move is the point
    EXPECT_EQ(*b, 5);
    EXPECT_EQ(p.in_use(), 1U);
    b = pooled<int>(p);
    EXPECT_EQ(p.in_use(), 1U);
  }
  EXPECT_EQ(p.in_use(), 0U);
}

TEST(Ring, IsADequeWithNumbers) {
  EXPECT_TRUE(rc::check([](const std::vector<std::int16_t>& steps) {
    ring<int> r;
    std::deque<int> expected;
    std::uint64_t popped = 0;
    for (const int s : steps) {
      if (s < 0 && !expected.empty()) {
        RC_ASSERT(r.pop() == expected.front());
        expected.pop_front();
        ++popped;
      } else {
        r.push(s);
        expected.push_back(s);
      }
      RC_ASSERT(r.size() == expected.size());
      RC_ASSERT(r.begin_number() == popped);
      RC_ASSERT(r.end_number() == popped + expected.size());
      if (!expected.empty()) {
        RC_ASSERT(r.front() == expected.front());
        RC_ASSERT(r.back() == expected.back());
        RC_ASSERT(r.at_number(popped + expected.size() / 2) == expected[expected.size() / 2]);
        RC_ASSERT(r[expected.size() / 2] == expected[expected.size() / 2]);
      }
    }
  }));
}

TEST(Histogram, PercentilesAreWithinABucket) {
  EXPECT_TRUE(rc::check([](std::vector<std::uint64_t> values, std::uint8_t shift) {
    if (values.empty()) values.push_back(0);
    histogram h;
    for (std::uint64_t& v : values) {
      v >>= shift % 64;
      h.add(v);
    }
    std::sort(values.begin(), values.end());
    RC_ASSERT(h.count() == values.size());
    RC_ASSERT(h.min() == values.front());
    RC_ASSERT(h.max() == values.back());
    for (const double p : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto rank = std::max(1.0, std::ceil(p / 100 * static_cast<double>(values.size())));
      const std::uint64_t exact = values[static_cast<std::size_t>(rank) - 1];
      const std::uint64_t got = h.percentile(p);
      RC_ASSERT(got >= exact);
      RC_ASSERT(got - exact <= exact / 32);
    }
  }));
}

TEST(Histogram, SumAndMeanAreExact) {
  histogram h;
  EXPECT_EQ(h.mean(), 0);
  EXPECT_EQ(h.percentile(50), 0U);
  EXPECT_EQ(h.min(), 0U);
  for (std::uint64_t v = 1; v <= 1000; ++v) h.add(v);
  EXPECT_EQ(h.sum(), 500500);
  EXPECT_EQ(h.mean(), 500.5);
  h.add(ps(-5));  // no negative times
  EXPECT_EQ(h.min(), 0U);
}

TEST(Level, MeanIsWeightedByTime) {
  level l;
  l.set(4, 10_ns);
  l.set(1, 20_ns);
  l.set(0, 40_ns);
  EXPECT_DOUBLE_EQ(l.mean(100_ns), (4 * 10 + 1 * 20) / 100.0);
  EXPECT_EQ(l.peak(), 4U);
  l.set(2, 100_ns);
  EXPECT_DOUBLE_EQ(l.mean(200_ns), (60 + 200) / 200.0);
  EXPECT_EQ(level().mean(0_ps), 0);
}

TEST(Level, AValueThatIsReplacedAtTheSameTimeIsNoPeak) {
  level l;
  l.set(1, 10_ns);
  l.set(9, 20_ns);
  l.set(2, 20_ns);
  l.set(0, 30_ns);
  EXPECT_EQ(l.peak(), 2U);
}

TEST(Level, PiecesAreOfTheirOwnTime) {
  level l;
  l.set(4, 10_ns);
  l.set(1, 20_ns);
  const level::taken first = l.take(30_ns);
  EXPECT_EQ(first.area, (4 * 10 + 1 * 10) * 1000.0);
  EXPECT_EQ(first.time, 30_ns);
  EXPECT_EQ(first.peak, 4U);
  EXPECT_EQ(l.mean(40_ns), 1) << "it goes on at the value that it has";
  l.set(3, 50_ns);
  const level::taken second = l.take(50_ns);
  EXPECT_EQ(second.area, 20 * 1000.0);
  EXPECT_EQ(second.peak, 1U) << "3 begins only where the piece ends";
  EXPECT_EQ(l.take(60_ns).peak, 3U);
}

// Cut anywhere, the pieces of a histogram put together are the histogram, and each is that of its own samples.
TEST(Histogram, PiecesAddUp) {
  EXPECT_TRUE(rc::check([](const std::vector<std::vector<std::uint32_t>>& pieces) {
    histogram whole;
    histogram cut;
    histogram sum;
    for (const auto& piece : pieces) {
      histogram own;
      for (const std::uint32_t v : piece) {
        whole.add(v);
        cut.add(v);
        own.add(v);
      }
      const histogram taken = cut.take();
      RC_ASSERT(taken.count() == own.count());
      RC_ASSERT(taken.min() == own.min());
      RC_ASSERT(taken.max() == own.max());
      RC_ASSERT(taken.percentile(90) == own.percentile(90));
      sum += taken;
    }
    RC_ASSERT(sum.count() == whole.count());
    RC_ASSERT(sum.sum() == whole.sum());
    RC_ASSERT(sum.min() == whole.min());
    RC_ASSERT(sum.max() == whole.max());
    for (const double p : {1.0, 50.0, 99.0}) RC_ASSERT(sum.percentile(p) == whole.percentile(p));
    RC_ASSERT(cut.count() == 0U);
    RC_ASSERT(cut.count_ever() == whole.count());
    RC_ASSERT(cut.sum_ever() == whole.sum());
  }));
}

// Every kind of statistic, read twice: the second reading covers the time between the two.
TEST(Statistics, AReaderGivesWhatWasGatheredSinceTheLastTime) {
  counter hits;
  counter misses;
  histogram latency;
  level fill;
  server pipe;
  statistics s;
  s.add("hits", "1", "", hits);
  s.add("latency", "ps", "", latency);
  s.add("fill", "1", "", fill);
  s.add("other", "1", "", fill, "filling");
  s.ratio("hit_ratio", "", {&hits}, {&hits, &misses});
  s.share("utilisation", "", pipe);
  s.busy_time("pipe_busy", "", pipe);
  s.wait_time("pipe_waited", "", pipe);
  s.total("doubled", "1", "", [&](ps) { return 2.0 * static_cast<double>(hits.value()); });
  std::vector<statistic_reader> readers(s.all().begin(), s.all().end());
  EXPECT_EQ(s.all()[2].signal, "fill");
  EXPECT_EQ(s.all()[3].signal, "filling");
  readers.erase(readers.begin() + 3);  // one reader a level

  hits += 10;
  misses += 30;
  latency.add(500_ns);
  fill.set(8, 0_ns);
  pipe.start(0_ns, 90_ns);
  pipe.start(10_ns, 40_ns);  // waits for 80 ns, and is busy until 130 ns
  const auto read = [&](ps t) {
    std::vector<double> values;
    for (statistic_reader& r : readers) values.push_back(r.take(t).value(r.of()));
    return values;
  };
  EXPECT_EQ(read(100_ns), (std::vector<double>{10, 1, 8, 0.25, 1, 100e3, 80e3, 20}));
  hits += 3;
  misses += 1;
  fill.set(2, 150_ns);
  EXPECT_EQ(read(200_ns), (std::vector<double>{3, 0, 5, 0.75, 0.3, 30e3, 0, 6}));
  EXPECT_EQ(read(300_ns), (std::vector<double>{0, 0, 2, 0, 0, 0, 0, 0}));
  const auto& share = std::get<formula>(s.all()[5].value);
  EXPECT_DOUBLE_EQ(share(260_ns), 0.5) << "since the run began";
}

// Changes that come out of order have the mean of the same changes in order.
TEST(Level, AddIsExactInAnyOrder) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint16_t, std::uint16_t>>& stays) {
    level l;
    double area = 0;
    for (const auto& [from, length] : stays) {
      l.add(1, ps(from));
      l.add(-1, ps(from) + ps(length));
      area += length;
    }
    const ps end(200'000);
    RC_ASSERT(l.value() == 0U);
    RC_ASSERT(std::abs(l.mean(end) - area / 200'000) < 1e-9 * (1 + area));
  }));
}

// The numbers were computed with an implementation of its own, from the published definitions of xoshiro256**, splitmix64
// and FNV-1a.
TEST(Random, GivesTheNumbersOfItsDefinition) {
  random_stream r(42, "link.loss");
  for (const std::uint64_t expected : {0x3ebb57b727a6c208ULL, 0xfc3cd5ca9efa7be2ULL, 0xcdfab3b4be31564fULL,
                                       0x0a3f027e225568e2ULL, 0xd94fe3d2cef2bd87ULL, 0xa9e2f42e51ad889aULL})
    EXPECT_EQ(r.next(), expected);
}

TEST(Random, StreamsDependOnSeedAndName) {
  EXPECT_EQ(random_stream(1, "a").next(), random_stream(1, "a").next());
  EXPECT_NE(random_stream(1, "a").next(), random_stream(2, "a").next());
  EXPECT_NE(random_stream(1, "a").next(), random_stream(1, "b").next());
}

TEST(Random, BelowIsUniform) {
  random_stream r(9, "below");
  for (const std::uint64_t bound : {1ULL, 2ULL, 7ULL, 1000ULL, 0x8000000000000001ULL}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(r.below(bound), bound);
  }
  std::array<int, 7> seen{};
  constexpr int n = 70000;
  for (int i = 0; i < n; ++i) ++seen[r.below(7)];
  double chi = 0;
  for (const int s : seen) chi += (s - n / 7.0) * (s - n / 7.0) / (n / 7.0);
  EXPECT_LT(chi, 22.5);  // 6 degrees of freedom, one in a thousand
}

TEST(Random, UnitAndChance) {
  random_stream r(9, "unit");
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = r.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.012);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(r.chance(0));
    EXPECT_TRUE(r.chance(1));
  }
}

TEST(Server, ARequestWaitsWhileTheServerIsBusy) {
  server s;
  EXPECT_EQ(s.start(10_ns, 5_ns), 10_ns);
  EXPECT_EQ(s.start(11_ns, 5_ns), 15_ns);
  EXPECT_EQ(s.start(20_ns, 5_ns), 20_ns);  // free at exactly 20
  EXPECT_EQ(s.start(40_ns, 1_ns), 40_ns);
  EXPECT_EQ(s.free_at(), 41_ns);
  EXPECT_EQ(s.busy(), 16_ns);
  EXPECT_EQ(s.waited(), 4_ns);
  EXPECT_EQ(s.served(), 4U);
}

TEST(Quantities, ALinkIsNeverFasterThanItSays) {
  EXPECT_EQ(bit_rate{100e9}.time_for(1), 80_ps);
  EXPECT_EQ(bit_rate{200e9}.time_for(4096), 163840_ps);
  EXPECT_EQ(bit_rate{3e12}.time_for(1), 3_ps);  // 2.67
  EXPECT_EQ(bit_rate{100e9}.time_for(0), 0_ps);
  EXPECT_TRUE(rc::check([](std::uint32_t bytes, std::uint16_t gbps) {
    const bit_rate rate{1e9 * (1 + gbps)};
    const double exact = 8e12 * bytes / rate.bits_per_second;
    const auto t = static_cast<double>(rate.time_for(bytes).count());
    RC_ASSERT(t >= exact - 1e-3);
    RC_ASSERT(t < exact + 1);
  }));
}

TEST(ClockDomain, TurnsCyclesIntoTime) {
  const clock_domain c(frequency{3e8});
  EXPECT_EQ(c.cycles(3), 10_ns);
  EXPECT_EQ(c.cycles(1), 3333_ps);
  EXPECT_EQ(c.cycles(0), 0_ps);
  EXPECT_NEAR(c.cycles_in(1_us), 300, 1e-9);
}

std::size_t resident_pages() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(LazyArray, CostsItsTouchedPagesAlone) {
  constexpr std::size_t entries = 8 << 20;
  constexpr std::size_t touched = 64;
  const std::size_t before = resident_pages();
  lazy_array<std::uint64_t> a(entries);
  ASSERT_EQ(a.size(), entries);
  for (std::size_t i = 0; i < touched; ++i) {
    std::uint64_t& word = a[i * (entries / touched)];
    EXPECT_EQ(word, 0U);
    word = i;
  }
  EXPECT_LE(resident_pages() - before, 2 * touched) << "also where the heap lies in huge pages";
  lazy_array<std::uint64_t> b = std::move(a);
  EXPECT_EQ(b[(touched - 1) * (entries / touched)], touched - 1);
  EXPECT_EQ(lazy_array<char>(3)[2], 0);
  EXPECT_EQ(lazy_array<char>(0).size(), 0U);
  EXPECT_THROW(lazy_array<std::uint64_t>(SIZE_MAX / 8), std::bad_alloc);
}

TEST(LazyArray, FaultsBehindALargeOne) {
  constexpr std::size_t entries = 1 << 16;
  lazy_array<std::uint32_t> a(entries);
  a[entries - 1] = 1;
  EXPECT_DEATH(a[entries] = 1, "");
}

}  // namespace
}  // namespace hcasim
