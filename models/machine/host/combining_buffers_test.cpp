#include "models/machine/host/combining_buffers.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

TEST(combining_buffers, hold_a_line_until_the_link_has_taken_it) {
  combining_buffers b(3);
  EXPECT_TRUE(b.fits(3, 0_ps));
  const std::uint64_t first = b.add(2);
  EXPECT_TRUE(b.fits(1, 0_ps));
  const std::uint64_t second = b.add(1);
  EXPECT_FALSE(b.fits(1, 1_us));
  EXPECT_EQ(b.oldest_leaves(), never);
  b.leave(first, 2_us);
  EXPECT_EQ(b.oldest_leaves(), 2_us);
  EXPECT_FALSE(b.fits(1, 1999_ns)) << "not yet";
  EXPECT_TRUE(b.fits(2, 2_us));
  EXPECT_FALSE(b.fits(3, 2_us));
  b.leave(second, 3_us);
  EXPECT_TRUE(b.fits(3, 3_us));
}

TEST(combining_buffers, a_write_of_more_lines_waits_for_all_of_them) {
  combining_buffers b(2);
  EXPECT_TRUE(b.fits(8, 0_ps));
  const std::uint64_t large = b.add(8);
  EXPECT_FALSE(b.fits(1, 1_us));
  b.leave(large, 1_us);
  EXPECT_TRUE(b.fits(8, 1_us));
}

TEST(combining_buffers, numbers_go_round) {
  combining_buffers b(2);
  for (int i = 0; i < 100; ++i) {
    const ps t = 1_us * i;
    ASSERT_TRUE(b.fits(1, t));
    const std::uint64_t number = b.add(1);
    ASSERT_EQ(number, static_cast<std::uint64_t>(i));
    b.leave(number, t + 1_ns);
  }
}

}  // namespace
}  // namespace hcasim
