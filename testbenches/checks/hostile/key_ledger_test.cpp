#include "testbenches/checks/hostile/key_ledger.h"

#include <gtest/gtest.h>

namespace hcasim::kit {
namespace {

constexpr unsigned may_read = 4;
constexpr unsigned may_write = 2;

// 16 bytes of [100, 116) were shown to a READ that came at `begun` and was answered 1 us later.
std::uint64_t misused(key_ledger& l, std::uint32_t key, ps begun, std::uint64_t va = 100, unsigned needs = may_read) {
  l.note({{key, needs, va, 16, begun, begun + 1_us}}, 16);
  return l.misused();
}

TEST(key_ledger, a_key_that_was_given) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  EXPECT_EQ(misused(l, 0x501, 20_us), 0U);
}

TEST(key_ledger, another_byte_of_the_key) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  EXPECT_EQ(misused(l, 0x502, 20_us), 16U);
}

TEST(key_ledger, a_key_taken_away_is_misuse) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  l.give({0x601, may_read, 90, 40}, 11_us, 11_us);  // for the same bytes
  l.take(0x501, 30_us);
  EXPECT_EQ(misused(l, 0x501, 29_us), 0U) << "when it had come the key was one";
  EXPECT_EQ(misused(l, 0x501, 31_us), 16U);
}

TEST(key_ledger, another_right_is_misuse) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  EXPECT_EQ(misused(l, 0x501, 20_us, 100, may_write), 16U);
}

TEST(key_ledger, an_access_beyond_the_bounds_is_misuse) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  EXPECT_EQ(misused(l, 0x501, 20_us, 115), 16U);
}

TEST(key_ledger, software_may_be_told_later_than_a_peer_can_guess) {
  key_ledger l;
  EXPECT_EQ(misused(l, 0x501, 20_us), 16U);
  l.give({0x501, may_read, 90, 40}, 19_us, 19_us);
  EXPECT_EQ(l.misused(), 0U);
}

TEST(key_ledger, what_a_peer_may_invalidate) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40, true}, 10_us, 12_us);
  l.give({0x502, may_read, 90, 40, true}, 20_us, 22_us);
  l.give({0x601, may_read, 90, 40}, 20_us, 22_us);
  EXPECT_TRUE(l.may_go(0x501, 15_us));
  EXPECT_TRUE(l.may_go(0x501, 21_us)) << "the later one may not be there yet";
  EXPECT_FALSE(l.may_go(0x501, 22_us));
  EXPECT_TRUE(l.may_go(0x502, 22_us));
  EXPECT_FALSE(l.may_go(0x601, 22_us)) << "it was given for life";
  l.take(0x502, 30_us);
  EXPECT_TRUE(l.may_go(0x502, 31_us)) << "nothing has come instead";
  EXPECT_FALSE(l.holds(0x502, 25_us));
  EXPECT_TRUE(l.holds(0x501, 12_us));
  EXPECT_FALSE(l.holds(0x501, 11_us)) << "perhaps not yet";
  l.invalidated(0x501, 12_us);
  EXPECT_FALSE(l.holds(0x501, 13_us));
  EXPECT_EQ(misused(l, 0x501, 13_us), 0U) << "not yet, perhaps";
}

TEST(key_ledger, one_valid_key_of_several_is_no_misuse) {
  key_ledger l;
  l.give({0x501, may_read, 90, 40}, 10_us, 10_us);
  l.note({{0x601, may_read, 100, 16, 20_us, 21_us}, {0x501, may_read, 100, 16, 20_us, 21_us}}, 16);
  EXPECT_EQ(l.misused(), 0U);
}

}  // namespace
}  // namespace hcasim::kit
