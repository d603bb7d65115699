#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <vector>

#include "tlm/base/replacement/policies.h"

namespace hcasim {
namespace {

using locks = std::vector<std::uint8_t>;

TEST(Replacement, EveryNameHasAPolicyInItsPlace) {
  const std::vector<std::string_view> names(replacement_policies);
  ASSERT_GE(names.size(), 3U);
  EXPECT_EQ(names[static_cast<std::size_t>(replacement_policy::lru)], "lru");
  EXPECT_EQ(names[static_cast<std::size_t>(replacement_policy::plru)], "plru");
  EXPECT_EQ(names[static_cast<std::size_t>(replacement_policy::random)], "random");
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_NE(make_replacement(static_cast<replacement_policy>(i), 2, 2, 1), nullptr);
}

// The promises of every policy to its owner, from sets that were never used on.
TEST(Replacement, VictimsAreWaysOfTheSetThatAreNotLocked) {
  for (const replacement_policy policy : all_replacement_policies) {
    for (const std::uint32_t ways : {1U, 2U, 3U, 8U, 12U}) {
      const auto r = make_replacement(policy, 3, ways, 1);
      random_stream random(ways, "every policy");
      for (int i = 0; i < 2000; ++i) {
        const auto set = static_cast<std::uint32_t>(random.below(3));
        if (random.chance(0.5)) r->used(set, static_cast<std::uint32_t>(random.below(ways)));
        locks locked(ways);
        for (auto& l : locked) l = random.chance(0.7);
        locked[random.below(ways)] = 0;
        const std::uint32_t v = r->victim(set, locked.data());
        ASSERT_LT(v, ways) << replacement_policies.begin()[static_cast<std::size_t>(policy)];
        ASSERT_FALSE(locked[v]) << replacement_policies.begin()[static_cast<std::size_t>(policy)];
      }
    }
  }
}

// Against a list kept in order of use, with random locks.
TEST(Replacement, LruEqualsAListInOrderOfUse) {
  constexpr std::uint32_t ways = 7;
  lru_replacement lru(3, ways, 0);
  std::array<std::list<std::uint32_t>, 3> order;
  random_stream random(1, "lru");
  for (std::uint32_t s = 0; s < 3; ++s) {
    for (std::uint32_t w = 0; w < ways; ++w) {
      lru.used(s, w);
      order[s].push_back(w);
    }
  }
  for (int i = 0; i < 20000; ++i) {
    const auto s = static_cast<std::uint32_t>(random.below(3));
    const auto w = static_cast<std::uint32_t>(random.below(ways));
    lru.used(s, w);
    order[s].remove(w);
    order[s].push_back(w);
    locks locked(ways);
    for (auto& l : locked) l = random.chance(0.5);
    locked[random.below(ways)] = 0;
    const auto expected = *std::find_if(order[s].begin(), order[s].end(), [&](std::uint32_t x) { return !locked[x]; });
    ASSERT_EQ(lru.victim(s, locked.data()), expected);
  }
}

TEST(Replacement, PlruOfFourWaysAsInTheTextbook) {
  plru_replacement p(1, 4, 0);
  const locks none(4);
  for (std::uint32_t w : {0U, 1U, 2U, 3U}) p.used(0, w);
  EXPECT_EQ(p.victim(0, none.data()), 0U);
  p.used(0, 0);  // root points right, where 2 is older
  EXPECT_EQ(p.victim(0, none.data()), 2U);
  p.used(0, 2);  // root points left, where 1 is older
  EXPECT_EQ(p.victim(0, none.data()), 1U);
  p.used(0, 1);
  EXPECT_EQ(p.victim(0, none.data()), 3U);
}

TEST(Replacement, PlruNeverTakesTheLastUsedAndRespectsLocks) {
  for (std::uint32_t ways : {1U, 2U, 3U, 5U, 8U, 12U, 16U}) {
    plru_replacement p(2, ways, 0);
    random_stream random(ways, "plru");
    std::vector<int> taken(ways);
    for (int i = 0; i < 5000; ++i) {
      const auto last = static_cast<std::uint32_t>(random.below(ways));
      p.used(1, last);
      locks locked(ways);
      std::uint32_t v = p.victim(1, locked.data());
      ASSERT_LT(v, ways);
      ASSERT_TRUE(ways == 1 || v != last);
      ++taken[v];
      for (auto& l : locked) l = random.chance(0.7);
      locked[random.below(ways)] = 0;
      v = p.victim(1, locked.data());
      ASSERT_LT(v, ways);
      ASSERT_FALSE(locked[v]);
    }
    for (int t : taken) EXPECT_GT(t, 0) << ways;
  }
}

TEST(Replacement, RandomIsUniformOverWhatIsFree) {
  random_replacement r(1, 8, 5);
  const locks locked = {0, 1, 0, 0, 1, 0, 0, 1};
  std::array<int, 8> taken{};
  constexpr int n = 50000;
  for (int i = 0; i < n; ++i) ++taken[r.victim(0, locked.data())];
  for (std::size_t w = 0; w < 8; ++w) {
    if (locked[w]) {
      EXPECT_EQ(taken[w], 0);
    } else {
      EXPECT_NEAR(taken[w], n / 5, n / 5 * 0.06);
    }
  }
}

TEST(Replacement, RandomRepeatsWithItsSeed) {
  random_replacement a(1, 8, 5);
  random_replacement b(1, 8, 5);
  random_replacement other(1, 8, 6);
  const locks none(8);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const auto v = a.victim(0, none.data());
    ASSERT_EQ(v, b.victim(0, none.data()));
    different += v != other.victim(0, none.data());
  }
  EXPECT_GT(different, 50);
}

}  // namespace
}  // namespace hcasim
