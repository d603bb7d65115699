// With a second level a line that made room in the leaf cache comes back without a walk.
#include "models/adapter/page_walker/page_walker_bench.h"

namespace hcasim {
namespace {

using namespace testing;

// A leaf cache of one line of one entry, and four behind it.
struct two_levels : page_walker_bench {
  const translation m = table(1, 1);

  two_levels() : page_walker_bench(config()) {
    for (std::uint64_t page = 0; page < 8; ++page) memory.map(m, page, 0x1000 * (page + 1));
  }
  static page_walker_config config() {
    page_walker_config c;
    c.line = pte_line::one;
    c.leaf_sets = c.leaf_ways = 1;
    c.second_sets = 1;
    c.second_ways = 4;
    c.second_latency = 20;
    return c;
  }
  translate_request& look(std::uint64_t page, bool write = false) {
    translate_request& r = walk_page(m, page, now() + 10_ns);
    r.write = write;
    run_until_idle();
    return r;
  }
};

TEST(WalkerSecondLevel, ALineComesBackAfterItsLatency) {
  two_levels b;
  b.look(0);
  b.look(1);
  const ps at = now() + 10_ns;
  translate_request& r = b.look(0);
  EXPECT_EQ(b.answered(r), at + 3_ns + 20_ns);
  EXPECT_EQ(r.physical, 0x1000U);
  EXPECT_EQ(b.reads(), 2U);
  EXPECT_EQ(b.count("second_hits"), 1U);
  EXPECT_EQ(b.count("misses"), 2U);
  const ps again = now() + 10_ns;
  EXPECT_EQ(b.answered(b.look(0)), again + 3_ns) << "it is in the leaf cache again";
}

TEST(WalkerSecondLevel, ItsLinesNeedNoWalker) {
  page_walker_config c = two_levels::config();
  c.walkers = 1;
  page_walker_bench b(c);
  const translation m = table(1, 1);
  for (std::uint64_t page = 0; page < 3; ++page) b.memory.map(m, page, 0x1000 * (page + 1));
  b.walk_page(m, 0, 1_us);
  b.walk_page(m, 1, 2_us);
  b.walk_page(m, 2, 3_us);
  translate_request& r = b.walk_page(m, 0, 3100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(r), 3123_ns);
}

TEST(WalkerSecondLevel, ADropForgetsTheLineInBothLevels) {
  two_levels b;
  b.look(0);
  b.look(1);
  b.memory.map(b.m, 0, 0x9000);
  b.drop(1, b.m.table_va, b.m.table_va + 4095, now() + 10_ns);
  run_until_idle();
  EXPECT_EQ(b.look(0).physical, 0x9000U);
}

TEST(WalkerSecondLevel, ADropReachesALineOnItsWayBack) {
  two_levels b;
  b.look(0);
  b.look(1);
  const ps at = now() + 10_ns;
  b.walk_page(b.m, 0, at);
  b.drop(1, b.m.table_va, b.m.table_va + 4095, at + 10_ns);
  translate_request& after = b.walk_page(b.m, 0, at + 15_ns);
  b.memory.map(b.m, 0, 0x9000);
  run_until_idle();
  EXPECT_EQ(after.physical, 0x9000U);
  EXPECT_EQ(b.look(0).physical, 0x9000U);
  EXPECT_EQ(b.count("poisoned_walks"), 1U);
}

// Entries become present, or writable, without a drop.
TEST(WalkerSecondLevel, AnEntryThatCannotBeUsedIsWalkedFor) {
  two_levels b;
  b.memory.map(b.m, 0, 0x1000 | HCA_PTE_READ_ONLY);
  b.look(0);
  b.look(1);
  b.memory.map(b.m, 0, 0x1000);
  translate_request& r = b.look(0, true);
  EXPECT_EQ(r.status, translate_status::ok);
  EXPECT_EQ(b.count("second_hits"), 0U);
}

TEST(WalkerSecondLevel, ARequestJoinsALineOnItsWayOnlyIfItsEntryCanBeUsed) {
  page_walker_config c = two_levels::config();
  c.line = pte_line::two;
  page_walker_bench b(c);
  const translation m = table(1, 1);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 1, 0x2000, false);
  b.memory.map(m, 2, 0x3000);
  b.walk_page(m, 0, 1_us);
  b.walk_page(m, 2, 2_us);
  run_until_idle();
  b.memory.map(m, 1, 0x2000);
  const ps at = now() + 10_ns;
  translate_request& there = b.walk_page(m, 0, at);
  translate_request& late = b.walk_page(m, 1, at + 5_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(there), at + 23_ns);
  EXPECT_EQ(late.status, translate_status::ok);
  EXPECT_EQ(late.physical, 0x2000U);
  EXPECT_EQ(b.count("merged"), 0U);
}

}  // namespace
}  // namespace hcasim
