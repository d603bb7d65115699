// Effects of a drop: nothing that was read before it is used.
#include "models/adapter/page_walker/page_walker_bench.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = page_walker_bench;

TEST(PageWalker, DropForgetsTheRangeAndOnlyIt) {
  bench b;
  const translation m = table(1, 2);
  const translation other = table(2, 2);
  for (std::uint64_t p = 0; p < 64; p += 8) {
    b.memory.map(m, p, 0x1000);
    b.memory.map(other, p, 0x1000);
  }
  ps at = 1_us;
  for (std::uint64_t p = 0; p < 64; p += 8) {
    b.walk_page(m, p, at += 2_us);
    b.walk_page(other, p, at);
  }
  run_until_idle();
  const std::size_t before = b.reads();
  // From the last byte of line 2 to the first of line 4.
  translate_request& d = b.drop(1, m.table_va + 24 * 4096 - 1, m.table_va + 32 * 4096, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(b.answered(d), b.client.answers.back().at);
  EXPECT_EQ(b.count("dropped_entries"), 3U + 1U);  // lines 2 to 4 and the node above
  at = now() + 1_us;
  for (std::uint64_t p = 0; p < 64; p += 8) {
    b.walk_page(m, p, at += 2_us);
    b.walk_page(other, p, at);
  }
  run_until_idle();
  EXPECT_EQ(b.reads() - before, 3U + 1U);
}

TEST(PageWalker, DropPoisonsWalksUnderWay) {
  bench b;
  const translation m = table(1, 2);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 64, 0x2000);
  translate_request& old = b.walk_page(m, 0, 1_us);
  b.walk_page(m, 64, 1_us);
  b.drop(1, m.table_va, m.table_va + 4095, 1200_ns);
  translate_request& after = b.walk_page(m, 0, 1300_ns);  // does not join
  run_until_idle();
  EXPECT_EQ(b.count("merged"), 0U);
  EXPECT_EQ(b.count("poisoned_walks"), 1U);
  EXPECT_EQ(b.answered(old), 1003_ns + 1000_ns);
  EXPECT_EQ(b.answered(after), 1303_ns + 1000_ns);
  EXPECT_EQ(b.reads(), 6U);
  translate_request& other = b.walk_page(m, 64, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(other.physical, 0x2000U);
  EXPECT_EQ(b.reads(), 6U);
}

// The walk is of another line than the dropped one, but passes the same node: it must not bring the node back.
TEST(PageWalker, WalkOfTheTagLeavesNoNodeAfterADrop) {
  bench b;
  const translation m = table(1, 2);
  b.memory.map(m, 64, 0x2000);
  b.walk_page(m, 64, 1_us);
  b.drop(1, m.table_va, m.table_va + 4095, 1200_ns);
  run_until_idle();
  EXPECT_EQ(b.reads(), 2U);
  b.walk_page(m, 128, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(b.reads(), 4U);
  EXPECT_EQ(b.count("upper_hits_level_1"), 0U);
}

TEST(PageWalker, PoisonedWalkLeavesNothing) {
  bench b;
  const translation m = table(1, 2);
  b.memory.map(m, 0, 0x1000);
  b.walk_page(m, 0, 1_us);
  b.drop(1, 0, ~0ULL, 1200_ns);
  run_until_idle();
  b.memory.words.clear();
  translate_request& r = b.walk_page(m, 0, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(r.status, translate_status::not_present);
}

// Between the change of a key and the drop of its translations, accesses of both epochs walk: each its own table.
TEST(PageWalker, TablesOfTwoEpochsOfOneTagDoNotMix) {
  bench b;
  const translation old_map = table(1, 2);
  translation new_map = old_map;
  new_map.table += 0x10000;
  b.memory.map(old_map, 0, 0x1000);
  b.memory.map(new_map, 0, 0x2000);
  b.walk_page(old_map, 0, 1_us);
  translate_request& young = b.walk_page(new_map, 0, 10_us);
  translate_request& old_again = b.walk_page(old_map, 0, 20_us);
  b.drop(1, 0, ~0ULL, 30_us);
  run_until_idle();
  EXPECT_EQ(young.physical, 0x2000U);
  EXPECT_EQ(old_again.physical, 0x1000U);
  EXPECT_EQ(b.count("dropped_entries"), 4U);
}

}  // namespace
}  // namespace hcasim
