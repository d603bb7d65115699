#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

TEST(bitmap, hands_out_every_number_once_and_a_freed_one_late) {
  firmware_bench b;
  std::vector<std::uint64_t> words(3);
  fw_bitmap m{};
  m.words = words.data();
  fw_bitmap_init(&m, 130, 2);
  std::set<std::uint32_t> seen;
  std::uint32_t n = 0;
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(fw_bitmap_take(b.fw(), &m, &n));
    EXPECT_TRUE(seen.insert(n).second);
    EXPECT_GE(n, 2U);
  }
  fw_bitmap_put(&m, n);
  std::uint32_t next = 0;
  ASSERT_TRUE(fw_bitmap_take(b.fw(), &m, &next));
  EXPECT_NE(next, n);
  int more = 0;
  while (fw_bitmap_take(b.fw(), &m, &n)) more++;
  EXPECT_EQ(more, 128 - 100);
  EXPECT_EQ(m.used, 128U);
}

TEST(bitmap, runs_against_a_reference) {
  rc::check([] {
    firmware_bench b;
    std::vector<std::uint64_t> words(3);
    fw_bitmap m{};
    m.words = words.data();
    fw_bitmap_init(&m, 150, 0);
    std::vector<bool> used(150);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (int step = 0; step < 200; step++) {
      if (*rc::gen::inRange(0, 2) == 0) {
        const auto count = *rc::gen::inRange(1U, 40U);
        std::uint32_t first = 0;
        if (fw_bitmap_take_run(b.fw(), &m, count, &first)) {
          for (std::uint32_t i = first; i < first + count; i++) {
            RC_ASSERT(!used.at(i));
            used[i] = true;
          }
          taken.emplace_back(first, count);
        } else {
          std::uint32_t longest = 0;
          std::uint32_t run = 0;
          for (const bool u : used) longest = std::max(longest, run = u ? 0 : run + 1);
          RC_ASSERT(longest < count);
        }
      } else if (!taken.empty()) {
        const auto i = *rc::gen::inRange<std::size_t>(0, taken.size());
        for (std::uint32_t n = taken[i].first; n < taken[i].first + taken[i].second; n++) {
          fw_bitmap_put(&m, n);
          used[n] = false;
        }
        taken.erase(taken.begin() + static_cast<long>(i));
      }
    }
  });
}

}  // namespace
