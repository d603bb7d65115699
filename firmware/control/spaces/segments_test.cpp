// The segments of an address space against a sorted list, through hundreds of random histories, and how far a search goes.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

struct stretch {
  std::uint64_t length;
  std::uint32_t handle;
};

class segments {
 public:
  explicit segments(unsigned seed) : b(limits()), random(seed) {
    const hca_region r = region(base, page, HCA_ACCESS_LOCAL_WRITE);
    EXPECT_EQ(b.x_register(r, {{0x100000, page}}), HCA_OK);
    s = fw_space_of(fw(), b.space.key);
    model[base] = {page, 1};
  }
  static fw_limits limits() {
    fw_limits l = small_limits();
    l.max_segments = 2048;
    return l;
  }
  firmware* fw() { return reinterpret_cast<firmware*>(b.fw()); }
  std::uint64_t pick(std::uint64_t n) { return random() % n; }

  bool insert(std::uint64_t va, std::uint64_t length, std::uint32_t handle) {
    const bool free = !overlaps(va, length);
    EXPECT_EQ(fw_segments_overlap(fw(), s, va, length), !free);
    if (!free || fw()->free_segment_count == 0) return false;
    fw_pages p{};
    p.va = va;
    p.length = length;
    p.first_leaf = p.last_leaf = FW_NO_LINK;
    fw_segment_insert(fw(), s, fw_segments_find(fw(), s, va), &p, handle);
    model[va] = {length, handle};
    return true;
  }
  [[nodiscard]] bool overlaps(std::uint64_t va, std::uint64_t length) const {
    auto i = model.lower_bound(va + length);
    return i != model.begin() && (--i)->first + i->second.length > va;
  }
  [[nodiscard]] bool covers(std::uint64_t va, std::uint64_t length) const {
    for (std::uint64_t at = va; at < va + length;) {
      auto i = model.upper_bound(at);
      if (i == model.begin() || (--i)->first + i->second.length <= at) return false;
      at = i->first + i->second.length;
    }
    return true;
  }
  void cut(std::uint64_t va, std::uint64_t length) {
    EXPECT_EQ(fw_segments_cover(fw(), s, va, length), covers(va, length));
    if (!covers(va, length) || fw()->free_segment_count < 2) return;
    const std::uint32_t list = fw_segments_cut(fw(), s, va, length);
    if (pick(3) == 0) return fw_segments_restore(fw(), s, list);
    fw_segments_drop(fw(), list);
    for (const std::uint64_t at : {va, va + length}) {
      auto i = model.upper_bound(at);
      if (i == model.begin() || (--i)->first == at || i->first + i->second.length <= at) continue;
      model[at] = {i->first + i->second.length - at, i->second.handle};
      i->second.length = at - i->first;
    }
    model.erase(model.lower_bound(va), model.lower_bound(va + length));
  }
  void cut_handle(std::uint32_t handle) {
    const bool there = std::any_of(model.begin(), model.end(), [&](const auto& x) { return x.second.handle == handle; });
    const std::uint32_t list = fw_segments_cut_handle(fw(), s, handle);
    EXPECT_EQ(list != FW_NO_LINK, there);
    if (pick(3) == 0) return fw_segments_restore(fw(), s, list);
    fw_segments_drop(fw(), list);
    std::erase_if(model, [&](const auto& x) { return x.second.handle == handle; });
  }
  void move() {
    const std::uint64_t shift = (1 + pick(64)) << 30;
    s->moved += shift;
    std::map<std::uint64_t, stretch> moved;
    for (const auto& [va, p] : model) moved[va + shift] = p;
    model = std::move(moved);
  }
  void compare() {
    std::uint64_t bytes = 0;
    std::uint32_t extents = 0;
    std::uint64_t end = 0;
    std::uint32_t n = s->first;
    std::uint32_t last = FW_NO_LINK;
    for (const auto& [va, p] : model) {
      ASSERT_NE(n, FW_NO_LINK);
      ASSERT_EQ(fw_segment_va(fw(), s, n), va);
      ASSERT_EQ(fw()->segments[n].length, p.length);
      ASSERT_EQ(fw()->segments[n].handle, p.handle);
      ASSERT_EQ(fw()->segments[n].previous, last);
      ASSERT_EQ(fw_segments_find(fw(), s, va), n);
      ASSERT_EQ(fw_segments_find(fw(), s, va + p.length - 1), n);
      ASSERT_EQ(fw_segments_find(fw(), s, va - 1), last);
      extents += va != end || bytes == 0;
      bytes += p.length;
      end = va + p.length;
      last = n;
      n = fw()->segments[n].next;
    }
    ASSERT_EQ(n, FW_NO_LINK);
    ASSERT_EQ(s->last, last);
    ASSERT_EQ(s->bytes, bytes);
    ASSERT_EQ(s->extents, extents);
    ASSERT_EQ(s->segments, model.size());
    ASSERT_EQ(fw_segments_end(fw(), s), end);
    ASSERT_EQ(b.usage().segments, model.size());
  }

  static constexpr std::uint64_t base = 0x7f0000000000;
  firmware_bench b;
  std::mt19937_64 random;
  fw_space* s = nullptr;
  std::map<std::uint64_t, stretch> model;
};

TEST(segments, follow_a_sorted_list) {
  for (unsigned seed = 1; seed <= 400 && !testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    segments t(seed);
    std::uint32_t handle = 2;
    for (int step = 0; step < 200; step++) {
      const std::uint64_t start = t.model.empty() ? segments::base : t.model.begin()->first;
      const std::uint64_t va = start + t.pick(256) * 512 - t.pick(2) * 64 * 512;
      const std::uint64_t kind = t.pick(16);
      if (kind < 9) {
        handle += t.insert(va, (1 + t.pick(6)) * 512, handle);
      } else if (kind < 12) {
        t.cut(va, (1 + t.pick(8)) * 512);
      } else if (kind < 15) {
        t.cut_handle(1 + static_cast<std::uint32_t>(t.pick(handle)));
      } else {
        t.move();
      }
      t.compare();
      ASSERT_FALSE(HasFailure()) << "step " << step;
    }
  }
}

// Whatever the order in which they came.
TEST(segments, a_search_is_short) {
  for (unsigned seed = 1; seed <= 20; seed++) {
    segments t(seed);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 1; i < 2000; i++) places.push_back(segments::base + 2 * i * page);
    if (seed % 3 == 0) std::reverse(places.begin(), places.end());
    if (seed % 3 == 1) std::shuffle(places.begin(), places.end(), t.random);
    for (std::size_t i = 0; i < places.size(); i++) t.insert(places[i], page, static_cast<std::uint32_t>(i + 2));
    std::uint64_t longest = 0;
    t.b.h.work = {};
    for (const std::uint64_t va : places) {
      const std::uint64_t before = t.b.h.work[HAL_WORK_CHUNK];
      fw_segments_find(t.fw(), t.s, va);
      longest = std::max(longest, t.b.h.work[HAL_WORK_CHUNK] - before);
    }
    EXPECT_LE(t.b.h.work[HAL_WORK_CHUNK] / places.size(), 2 * std::bit_width(places.size()));
    EXPECT_LE(longest, 4 * std::bit_width(places.size()));
  }
}

}  // namespace
