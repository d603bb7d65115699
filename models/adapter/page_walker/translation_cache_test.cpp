#include "models/adapter/page_walker/translation_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "tlm/base/random.h"

namespace hcasim {
namespace {

translation map_of(std::uint32_t tag, std::uint64_t table = 0x1000) {
  translation m;
  m.index = tag;
  m.table = table;
  return m;
}

// Far more tags than lists: many share one.
TEST(TranslationCache, DropTakesOneTagOnly) {
  translation_cache cache(256, 4, 1, replacement_policy::lru, 1);
  for (std::uint64_t tag = 0; tag < 500; ++tag) {
    cache.put(translation_cache::key_of(map_of(static_cast<std::uint32_t>(tag)), 0), &tag, 0, 4095);
  }
  const std::uint64_t before = cache.entries();
  for (std::uint32_t tag = 0; tag < 500; tag += 2) {
    const bool there = cache.find(translation_cache::key_of(map_of(tag), 0));
    EXPECT_EQ(cache.drop(tag, 0, ~0ULL), there ? 1U : 0U);
  }
  std::uint64_t left = 0;
  for (std::uint32_t tag = 0; tag < 500; ++tag) {
    const std::uint64_t* words = cache.find(translation_cache::key_of(map_of(tag), 0));
    if (!words) continue;
    EXPECT_EQ(tag % 2, 1U);
    EXPECT_EQ(*words, tag);
    ++left;
  }
  EXPECT_EQ(left, cache.entries());
  EXPECT_GT(left, before / 3);
}

TEST(TranslationCache, WithoutSetsCachesNothing) {
  translation_cache cache(0, 1, 1, replacement_policy::lru, 1);
  const std::uint64_t word = 5;
  const auto key = translation_cache::key_of(map_of(1), 0);
  cache.put(key, &word, 0, 1);
  EXPECT_EQ(cache.find(key), nullptr);
  EXPECT_EQ(cache.drop(1, 0, ~0ULL), 0U);
}

// Whatever is found is what was put last; whatever was dropped is not found; the count is right.
TEST(TranslationCache, EqualsAReferenceMap) {
  translation_cache cache(5, 3, 2, replacement_policy::plru, 1);
  random_stream random(9, "cache");
  struct entry {
    std::uint64_t word, first, last;
  };
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, entry> truth;
  std::uint64_t found = 0;
  for (int i = 0; i < 50000; ++i) {
    const auto tag = static_cast<std::uint32_t>(random.below(6));
    const std::uint64_t table = 64 * random.below(2);
    const std::uint64_t number = random.below(12);
    const auto key = translation_cache::key_of(map_of(tag, table), number);
    if (random.chance(0.4)) {
      const std::uint64_t words[2] = {random.next(), ~0ULL};
      const std::uint64_t first = number * 100 - 150;  // wraps for the first ones
      cache.put(key, words, first, first + 99);
      truth[{tag, table, number}] = {words[0], first, first + 99};
    } else if (random.chance(0.1)) {
      const std::uint64_t first = random.below(1000);
      const std::uint64_t last = first + random.below(200);
      const std::uint64_t before = cache.entries();
      const std::uint32_t dropped = cache.drop(tag, first, last);
      ASSERT_EQ(cache.entries(), before - dropped);
      std::erase_if(truth, [&](const auto& e) {
        bool covered = false;
        for (std::uint64_t va = e.second.first; va != e.second.last + 1; ++va) covered |= va >= first && va <= last;
        return std::get<0>(e.first) == tag && covered;
      });
    } else if (const std::uint64_t* words = cache.find(key)) {
      ++found;
      const auto known = truth.find({tag, table, number});
      ASSERT_NE(known, truth.end());
      ASSERT_EQ(*words, known->second.word);
    }
  }
  EXPECT_GT(found, 2000U);  // 15 of 144 keys fit
}

}  // namespace
}  // namespace hcasim
