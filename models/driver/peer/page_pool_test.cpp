#include "models/driver/peer/page_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tlm/base/units.h"

namespace hcasim::driver::peer {
namespace {

std::uint64_t bytes_of(const std::vector<page_pool::run>& runs) {
  std::uint64_t sum = 0;
  for (const page_pool::run& r : runs) sum += r.bytes;
  return sum;
}

TEST(page_pool, runs_are_whole_pages_from_the_lowest_address_on) {
  page_pool p(1_MiB, 64_KiB);
  const auto a = p.take(1, placement::contiguous);
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].offset, 0U);
  EXPECT_EQ(a[0].bytes, 64_KiB);
  const auto b = p.take(128_KiB, placement::contiguous);
  EXPECT_EQ(b[0].offset, 64_KiB);
  p.give(a);
  const auto c = p.take(192_KiB, placement::contiguous);
  EXPECT_EQ(c.size(), 1U) << "not cut where a whole run is free";
  EXPECT_EQ(c[0].offset, 192_KiB);
  EXPECT_TRUE(p.take(0, placement::contiguous).empty());
  EXPECT_TRUE(p.take(2_MiB, placement::contiguous).empty());
  EXPECT_EQ(p.free_bytes(), 1_MiB - 320_KiB);
}

TEST(page_pool, scattered_pages_do_not_lie_side_by_side) {
  page_pool p(1_MiB, 64_KiB);
  const auto a = p.take(256_KiB, placement::scattered);
  ASSERT_EQ(a.size(), 4U);
  for (std::size_t i = 1; i < a.size(); ++i) EXPECT_NE(a[i - 1].offset + 64_KiB, a[i].offset);
  p.give(a);
  EXPECT_EQ(p.take(1_MiB, placement::contiguous).size(), 1U) << "what was given back is one run again";
}

TEST(page_pool, no_page_is_handed_out_twice_and_none_is_lost) {
  EXPECT_TRUE(rc::check("taking and giving at random", [] {
    constexpr std::uint64_t page = 4096;
    constexpr std::uint64_t pages = 64;
    page_pool p(pages * page, page);
    std::vector<std::vector<page_pool::run>> taken;
    std::vector<bool> used(pages);
    for (int i = 0; i < 60; ++i) {
      if (!taken.empty() && *rc::gen::inRange(0, 2) == 0) {
        const auto k = *rc::gen::inRange<std::size_t>(0, taken.size());
        for (const auto& r : taken[k]) {
          for (std::uint64_t at = r.offset; at < r.offset + r.bytes; at += page) used[at / page] = false;
        }
        p.give(taken[k]);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        const auto n = *rc::gen::inRange<std::uint64_t>(1, 20 * page);
        const std::uint64_t before = p.free_bytes();
        const auto runs = p.take(n, *rc::gen::inRange(0, 2) ? placement::contiguous : placement::scattered);
        RC_ASSERT(runs.empty() == (align_up(n, page) > before));
        if (runs.empty()) continue;
        RC_ASSERT(bytes_of(runs) == align_up(n, page));
        for (const auto& r : runs) {
          for (std::uint64_t at = r.offset; at < r.offset + r.bytes; at += page) {
            RC_ASSERT(!used.at(at / page));
            used[at / page] = true;
          }
        }
        taken.push_back(runs);
      }
      std::uint64_t free = 0;
      for (const bool u : used) free += u ? 0 : page;
      RC_ASSERT(p.free_bytes() == free);
    }
  }));
}

}  // namespace
}  // namespace hcasim::driver::peer
