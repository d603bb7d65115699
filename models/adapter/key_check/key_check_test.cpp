// Checks: exact times, verdicts, extents.
#include <chrono>
#include <cstdio>

#include "models/adapter/key_check/key_check_bench.h"
#include "models/adapter/protection/testing/extent_tree.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = key_check_bench;

TEST(KeyCheck, HitTakesCacheAndPipeline) {
  bench b;
  key_request& r = b.check(5, 100_ns);
  run_for(200_ns);
  EXPECT_EQ(b.answered(r), 100_ns + 2_ns + 6_ns);
  EXPECT_EQ(r.result, verdict::granted);
  EXPECT_EQ(r.map.index, 5U);
  EXPECT_EQ(r.map.levels, 2);
  EXPECT_EQ(r.map.page_shift, 21);
  EXPECT_EQ(r.map.table, 0xabc000U + 5 * 64);
  EXPECT_EQ(r.map.table_va, 0xf000U);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  EXPECT_EQ(b.mrcs.pins(), 0);
  b.release(r);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
}

TEST(KeyCheck, MissTakesItsFetchAndPipeline) {
  bench b;
  b.mrcs.lines[5].latency = 500_ns;
  key_request& r = b.check(5, 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(r), 600_ns + 6_ns);
  EXPECT_EQ(b.mrcs.pins(), 0);
}

TEST(KeyCheck, OneVerdictPerCycle) {
  bench b;
  constexpr int n = 10000;
  for (int i = 0; i < n; ++i) b.check(5 + static_cast<std::uint32_t>(i % 3), 100_ns, i % 2);
  run_until_idle();
  const ps last = b.answered(b.requests.back());
  EXPECT_EQ(last, 100_ns + ps((n - 1) * 1000) + 8_ns);
  EXPECT_NEAR(n / to_seconds(last - 100_ns), 1e9, 0.02 * 1e9);
  EXPECT_EQ(b.count("local_granted") + b.count("remote_granted"), n);
}

TEST(KeyCheck, HitsPassAMissByDefault) {
  bench b;
  b.mrcs.lines[5].latency = 500_ns;
  b.check(5, 100_ns);
  key_request& hit = b.check(6, 110_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(hit), 118_ns);
}

TEST(KeyCheck, BlockingMissKeepsTheOrder) {
  key_check_config c;
  c.blocking_miss = true;
  bench b(c);
  b.mrcs.lines[5].latency = 500_ns;
  key_request& miss = b.check(5, 100_ns);
  key_request& hit = b.check(6, 110_ns);
  key_request& second = b.check(5, 120_ns);
  key_request& last = b.check(7, 130_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(miss), 606_ns);
  EXPECT_EQ(b.answered(hit), 608_ns);
  EXPECT_EQ(b.answered(second), 601_ns + 500_ns + 6_ns);
  EXPECT_EQ(b.answered(last), 1101_ns + 8_ns);
  EXPECT_EQ(b.count("blocked"), 3);
}

TEST(KeyCheck, CountsEachVerdictOfEachSide) {
  bench b;
  b.mrcs.entries = 1000;
  b.mrcs.failing.insert(42);
  key_request& index = b.check(8, 100_ns);
  key_request& key = b.check(5, 200_ns);
  key.key ^= 2;
  b.region(9).state = HCA_MRC_FREE;
  key_request& state = b.check(9, 300_ns);
  key_request& association = b.check(5, 400_ns, false);
  association.pd = 4;
  key_request& rights = b.check(5, 500_ns);
  rights.rights = HCA_ACCESS_REMOTE_ATOMIC;
  key_request& bounds = b.check(5, 600_ns, false);
  bounds.length += 1;
  key_request& beyond = b.check(1000, 700_ns);
  key_request& broken = b.check(42, 800_ns);
  run_until_idle();
  EXPECT_EQ(index.result, verdict::bad_index);
  EXPECT_EQ(key.result, verdict::bad_key);
  EXPECT_EQ(state.result, verdict::bad_state);
  EXPECT_EQ(association.result, verdict::bad_association);
  EXPECT_EQ(rights.result, verdict::bad_rights);
  EXPECT_EQ(bounds.result, verdict::bad_bounds);
  EXPECT_EQ(beyond.result, verdict::bad_index);
  EXPECT_EQ(broken.result, verdict::table_error);
  EXPECT_EQ(b.count("remote_bad_index"), 2);
  EXPECT_EQ(b.count("remote_bad_key"), 1);
  EXPECT_EQ(b.count("remote_bad_state"), 1);
  EXPECT_EQ(b.count("local_bad_association"), 1);
  EXPECT_EQ(b.count("remote_bad_rights"), 1);
  EXPECT_EQ(b.count("local_bad_bounds"), 1);
  EXPECT_EQ(b.count("remote_table_error"), 1);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
  EXPECT_EQ(b.mrcs.pins(), 0);
  for (key_request& r : b.requests) b.release(r);  // holds nothing: harmless
  EXPECT_EQ(b.unit_under_test.references(), 0U);
}

// 10 extents in 3 lines, and a root above them.
std::uint32_t ten_extents(bench& b, std::uint32_t first) {
  std::vector<hca_extent> all;
  for (std::uint32_t i = 0; i < 10; ++i) all.push_back({i * 0x2000ULL, 0x1000});
  const extent_tree tree(
      all, [](std::size_t room) { return room; }, [&](std::size_t n) { return static_cast<std::uint32_t>(first + n); });
  EXPECT_EQ(tree.lines.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) b.extents.at<extent_tree::line>(first + i) = tree.lines[i];
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.start = m.table_va = 0x1000;
  m.length = 0x14000;
  m.extent = (first + 3) * HCA_EXTENTS_PER_LINE;
  m.extent_count = tree.levels;
  return first + 3;
}

TEST(KeyCheck, ExtentsAreSearchedLineByLine) {
  bench b;
  ten_extents(b, 10);
  const ps gap = 1_us;
  ps at = 1_us;
  for (std::uint32_t i = 0; i < 10; ++i) {
    key_request& good = b.check(5, at);
    good.va = 0x1000 + i * 0x2000ULL;
    key_request& hole = b.check(5, at + gap / 2);
    hole.va = good.va;
    hole.length = 0x1001;
    run_for(at + gap - now());
    EXPECT_EQ(good.result, verdict::granted) << i;
    // MRC 2 ns, per line 2 ns and one cycle, pipeline 6 ns.
    EXPECT_EQ(b.answered(good) - at, 14_ns) << i;
    EXPECT_EQ(hole.result, verdict::bad_bounds) << i;
    EXPECT_EQ(hole.epoch, 0U);
    at += gap;
  }
  EXPECT_EQ(b.unit_under_test.references(), 10U);
  EXPECT_EQ(b.extents.pins() + b.mrcs.pins(), 0);
}

TEST(KeyCheck, ExtentMissesSuspendAndFailuresAreTableErrors) {
  bench b;
  const std::uint32_t root = ten_extents(b, 0);
  for (std::uint32_t i = 0; i <= root; ++i) b.extents.lines[i].latency = 300_ns;
  key_request& good = b.check(5, 100_ns);
  good.va = 0x1000;
  b.extents.failing.insert(2);
  key_request& bad = b.check(5, 10_us);
  bad.va = 0x1000 + 9 * 0x2000;
  run_for(300_ns);
  EXPECT_EQ(b.mrcs.pins(), 1);  // held until judged
  run_until_idle();
  EXPECT_EQ(b.answered(good), 102_ns + 2 * 301_ns + 6_ns);
  EXPECT_EQ(good.result, verdict::granted);
  EXPECT_EQ(bad.result, verdict::table_error);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  EXPECT_EQ(b.extents.pins() + b.mrcs.pins(), 0);
}

// A line that cannot have been written, a child beyond the area, and a circle: refused, and the reference is given back.
TEST(KeyCheck, ExtentsThatAreDamagedAreTableErrors) {
  bench b;
  const std::uint32_t root = ten_extents(b, 0);
  const ps gap = 1_us;
  const auto ends_in = [&](verdict v) {
    key_request& r = b.check(5, now() + gap);
    r.va = 0x1000 + 9 * 0x2000;
    run_for(2 * gap);
    EXPECT_EQ(r.result, v);
    EXPECT_EQ(r.epoch != 0, v == verdict::granted);
  };
  ends_in(verdict::granted);
  hca_extent& last = b.extents.at<hca_extent[4]>(2)[1];
  last.start ^= 0x10000;
  ends_in(verdict::table_error);
  last.start ^= 0x10000;
  hca_extent_node& top = b.extents.at<hca_extent_node>(root);
  const hca_extent_node sound = top;
  std::swap(top.start[0], top.start[1]);
  ends_in(verdict::table_error);
  top = sound;
  top.child[2] = b.extents.entries;
  ends_in(verdict::table_error);
  top.child[2] = root;
  b.mrcs.at<hca_mrc>(5).extent_count = HCA_EXTENT_LEVELS;
  ends_in(verdict::table_error);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  EXPECT_EQ(b.extents.pins() + b.mrcs.pins(), 0);
}

TEST(KeyCheck, HitIsFast) {
  bench b;
  key_request r;
  r.key = hca_key_make(5, 1);
  r.remote = true;
  r.rights = HCA_ACCESS_REMOTE_READ;
  r.pd = 3;
  r.va = 0x10000;
  r.length = 64;
  constexpr unsigned n = testing::optimised ? 3'000'000 : 50'000;
  ps t = now();
  unsigned granted = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n; ++i) {
    b.remote.out.send(r, t);
    granted += r.result == verdict::granted;
    b.remote.out.release(r);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns per check with release and a fake cache\n", took.count() / n);
  EXPECT_EQ(granted, n);
  if (testing::optimised) {
    EXPECT_LT(took.count() / n, 5000);
  }
}

}  // namespace
}  // namespace hcasim
