// The tree of extents against a set of intervals, through hundreds of random histories: results of accesses, shape, and no lost
// line after any failure.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "firmware/abi/sound.h"
#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

constexpr std::uint64_t grain = 512;

// Reads a tree from ICM as an adapter does.
class tree_reader {
 public:
  tree_reader(const firmware_bench& b, const hca_mrc& m) : b_(b), m_(m) {
    if (m.extent_count != 0) look_at(m.extent / HCA_EXTENTS_PER_LINE, m.extent_count - 1, {}, true);
  }
  std::map<std::uint64_t, std::uint64_t> extents;  // lengths, by VA
  std::set<std::uint32_t> lines;

 private:
  void look_at(std::uint32_t line, std::uint32_t height, std::optional<std::uint64_t> start, bool root) {
    EXPECT_TRUE(lines.insert(line).second) << "a line in two places";
    if (height > 0) {
      const auto n = b_.line_at<hca_extent_node>(line);
      ASSERT_TRUE(hca_extent_node_sound(&n));
      const auto children = static_cast<std::size_t>(std::find(n.start, std::end(n.start), HCA_EXTENT_NONE) - n.start) + 1;
      EXPECT_TRUE(root || children >= HCA_EXTENT_CHILDREN / 2);
      for (std::size_t i = 0; i < children; i++) {
        look_at(n.child[i], height - 1, i > 0 ? std::optional(n.start[i - 1]) : start, false);
      }
      return;
    }
    const auto e = b_.line_at<std::array<hca_extent, HCA_EXTENTS_PER_LINE>>(line);
    ASSERT_TRUE(hca_extents_sound(e.data()));
    EXPECT_TRUE(root || e[HCA_EXTENTS_PER_LINE / 2 - 1].length != 0);
    EXPECT_EQ(e[0].start, start.value_or(e[0].start)) << "the line above knows where this one begins";
    for (const hca_extent& x : e) {
      if (x.length == 0) continue;
      if (!extents.empty()) {
        const auto& [va, length] = *extents.rbegin();
        EXPECT_LT(va + length, m_.table_va + x.start);
      }
      extents[m_.table_va + x.start] = x.length;
    }
  }
  const firmware_bench& b_;
  const hca_mrc& m_;
};

class history {
 public:
  history(unsigned seed, const fw_limits& l) : b(l), random(seed) {}
  std::uint64_t pick(std::uint64_t n) { return random() % n; }

  // Mostly close together, so that they touch; now and then where the table has to grow.
  int add(bool exchange, std::uint32_t flags) {
    static constexpr std::uint64_t clusters[] = {0x7f0040000000, 0x7f0040000000, 0x7f0000000000, 0x7f8000000000,
                                                 0x300000000000};
    const std::uint64_t home = clusters[pick(8) == 0 ? pick(5) : 0] + pick(span) * grain;
    hca_region r = region(home + moved, (1 + pick(pick(8) == 0 ? 40 : 6)) * grain);
    if (exchange && !set.empty()) r.leaving = any()->second.handle;
    for (const auto& [at, p] : set) {
      if (at < home + r.length && home < at + p.length) return -1;
    }
    std::vector<hca_chunk> chunks;
    for (std::uint64_t p = home / page; p <= (home + r.length - 1) / page; p++) {
      chunks.push_back({0x10000000 + 2 * p * page, page});
    }
    const int status = key == 0 ? b.x_register(r, chunks) : b.x_reregister(key, r, chunks, flags);
    if (status != HCA_OK) return status;
    key = b.space.key;
    if (r.leaving != 0) std::erase_if(set, [&](const auto& x) { return x.second.handle == r.leaving; });
    set[home] = {r.length, b.space.handle};
    moved = b.space.added - home;
    return status;
  }
  int remove_handle() {
    const std::uint32_t handle = any()->second.handle;
    const int status = b.x_remove(key, handle);
    if (status == HCA_OK) std::erase_if(set, [&](const auto& x) { return x.second.handle == handle; });
    end_if_empty();
    return status;
  }
  int remove_range() {
    const auto from = any();
    const auto [home, p] = *from;
    std::uint64_t begin = pick(2) ? home : fw_align_up(home, page);
    std::uint64_t end = pick(2) ? home + p.length : fw_align_down(begin + (1 + pick(4)) * page, page);
    begin = std::min(begin, home + p.length - 1);
    end = std::min(end, home + p.length);
    if (begin >= end || (begin != home && begin % page != 0)) return -1;
    const int status = b.x_remove(key, 0, begin + moved, end - begin);
    if (status != HCA_OK) return status;
    set.erase(from);
    if (begin > home) set[home] = {begin - home, p.handle};
    if (end < home + p.length) set[end] = {home + p.length - end, p.handle};
    end_if_empty();
    return status;
  }
  int change() {
    const std::uint64_t what = pick(16);
    const bool few = set.size() < aim;
    if (set.empty() || (few && what < 9) || what < 4) return add(false, what == 0 ? HCA_X_REMAP : 0);
    if (what < 10) return add(true, what == 9 ? HCA_X_REMAP : 0);
    return what < 13 ? remove_handle() : remove_range();
  }

  void compare() {
    if (key == 0) {
      ASSERT_EQ(b.usage().extent_lines, 0U);
      return;
    }
    std::map<std::uint64_t, std::uint64_t> merged;
    for (const auto& [home, p] : set) {
      if (!merged.empty() && merged.rbegin()->first + merged.rbegin()->second == home + moved) {
        merged.rbegin()->second += p.length;
      } else {
        merged[home + moved] = p.length;
      }
    }
    const hca_mrc m = b.mrc(key);
    ASSERT_TRUE(hca_mrc_sound(&m));
    ASSERT_EQ(m.start, merged.begin()->first);
    ASSERT_EQ(m.start + m.length, merged.rbegin()->first + merged.rbegin()->second);
    const tree_reader t(b, m);
    if (merged.size() == 1) {
      ASSERT_EQ(m.extent_count, 0U);
    } else {
      ASSERT_EQ(t.extents, merged);
    }
    ASSERT_EQ(b.usage().extent_lines, t.lines.size()) << "none is lost";
    // Each level has at least half as many lines as the level below has room for.
    std::uint64_t least = 2;
    for (std::uint32_t level = 1; level < m.extent_count; level++) least *= level == 1 ? 2 : HCA_EXTENT_CHILDREN / 2;
    ASSERT_TRUE(m.extent_count <= 1 || least <= merged.size()) << m.extent_count << " lines for " << merged.size();
  }

  struct piece {
    std::uint64_t length;
    std::uint32_t handle;
  };
  std::map<std::uint64_t, piece>::iterator any() {
    return std::next(set.begin(), static_cast<std::ptrdiff_t>(pick(set.size())));
  }
  void end_if_empty() {
    if (!set.empty()) return;
    key = 0;
    moved = 0;
  }

  firmware_bench b;
  std::mt19937_64 random;
  std::map<std::uint64_t, piece> set;  // by their VA before the space was ever moved
  std::uint64_t moved = 0;
  std::uint64_t span = 600;
  std::size_t aim = 40;
  std::uint32_t key = 0;
};

fw_limits limits() {
  fw_limits l = small_limits();
  l.max_table_bytes = 8 * MiB;
  l.max_segments = 1024;
  l.max_extent_lines = 1024;
  return l;
}

TEST(extents, follow_a_set_of_intervals) {
  for (unsigned seed = 1; seed <= steps(400) && !testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    history t(seed, limits());
    t.aim = 2 + t.pick(200);
    t.span = 4 * t.aim + t.pick(2000);
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); step++) {
      t.change();
      t.compare();
    }
  }
}

// DMA accesses fail now and then, and lines run out: a failed change leaves the tree unchanged.
TEST(extents, are_as_they_were_when_a_change_fails) {
  int failed = 0;
  int refused = 0;
  for (unsigned seed = 1; seed <= steps(300) && !testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    fw_limits l = limits();
    l.max_extent_lines = 4 + seed % 40;
    history t(seed, l);
    for (int step = 0; step < 200 && !testing::Test::HasFailure(); step++) {
      t.b.h.fail_at = t.pick(3) == 0 ? t.b.h.dma_calls + static_cast<std::int64_t>(t.pick(8)) : -1;
      const int status = t.change();
      t.b.h.fail_at = -1;
      failed += status == HCA_MEMORY_FAULT;
      refused += status == HCA_NO_RESOURCES;
      t.compare();
    }
    EXPECT_TRUE(t.b.h.events.empty()) << "one fault is survived";
  }
  EXPECT_GT(failed, static_cast<int>(steps(1000)));
  EXPECT_GT(refused, static_cast<int>(steps(1000)));
}

// An access with the old MRC reads the old lines until the drain has ended. Until then none of them is written, dropped, or
// used again in the same change.
TEST(extents, lines_in_use_stay_as_they_are) {
  unsigned drained = 0;
  for (unsigned seed = 1; seed <= 100 && !testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    history t(seed, limits());
    t.aim = 4 + t.pick(60);
    t.span = 6 * t.aim;
    const hca_init areas = t.b.areas();
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); step++) {
      if (t.key == 0) {
        t.change();
        continue;
      }
      std::set<std::uint32_t> in_use = tree_reader(t.b, t.b.mrc(t.key)).lines;
      const std::uint32_t index = hca_key_index(t.key);
      const std::uint64_t entry = t.b.mrc_address(t.key);
      bool switched = false;
      t.b.h.observer = [&](const hal::call& c) {
        if (c.what == hal::op::write) {
          switched = switched || c.a == entry;
          const std::uint64_t offset = c.a - areas.extent_base;
          if (offset >= areas.extent_lines * 64ULL) return;
          for (std::uint64_t line = offset / 64; line < (offset + c.b) / 64; line++) {
            EXPECT_FALSE(in_use.contains(static_cast<std::uint32_t>(line))) << "written over";
          }
        } else if (c.what == hal::op::drain && c.a == index && switched) {
          in_use.clear();
          drained++;
        } else if (c.what == hal::op::drop && c.a == HAL_CACHE_EXTENT) {
          EXPECT_FALSE(in_use.contains(static_cast<std::uint32_t>(c.b))) << "dropped";
        }
      };
      t.change();
      t.b.h.observer = nullptr;
      t.compare();
    }
  }
  EXPECT_GT(drained, 1000U);
}

// Ascending, descending and in any order, then removed again: paths are short throughout.
TEST(extents, a_path_is_short) {
  for (unsigned order = 0; order < 6; order++) {
    fw_limits l = limits();
    l.max_segments = 4096;
    l.max_extent_lines = 4096;
    history t(order, l);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < steps(1024); i++) places.push_back(0x7f0040000000 + 2 * i * page);
    if (order % 3 == 1) std::reverse(places.begin(), places.end());
    if (order % 3 == 2) std::shuffle(places.begin(), places.end(), t.random);
    for (const std::uint64_t va : places) {
      const hca_region r = region(va, page);
      const std::vector<hca_chunk> memory{{0x100000, page}};
      ASSERT_EQ(t.key == 0 ? t.b.x_register(r, memory) : t.b.x_reregister(t.key, r, memory), HCA_OK);
      t.key = t.b.space.key;
      t.set[va] = {page, t.b.space.handle};
    }
    t.compare();
    EXPECT_LE(t.b.mrc(t.key).extent_count, 6U);
    if (order >= 3) std::shuffle(places.begin(), places.end(), t.random);
    for (const std::uint64_t va : places) {
      ASSERT_EQ(t.b.x_remove(t.key, t.set.at(va).handle), HCA_OK);
      t.set.erase(va);
      t.end_if_empty();
      t.compare();
    }
    EXPECT_EQ(t.b.usage().extent_lines, 0U);
  }
}

// One command takes many pieces of one handle out, and another puts the space together again.
TEST(extents, many_at_once) {
  history t(1, limits());
  const std::uint64_t va = 0x7f0040000000;
  ASSERT_EQ(t.b.x_register(region(va, 401 * page), scattered(401)), HCA_OK);
  t.key = t.b.space.key;
  t.set[va] = {401 * page, t.b.space.handle};
  for (std::uint64_t i = 1; i < 401; i += 2) {
    ASSERT_EQ(t.b.x_remove(t.key, 0, va + i * page, page), HCA_OK);
    const history::piece whole = t.set.at(va + (i - 1) * page);
    t.set[va + (i - 1) * page].length = page;
    t.set[va + (i + 1) * page] = {whole.length - 2 * page, whole.handle};
  }
  t.compare();
  ASSERT_EQ(t.b.x_reregister(t.key, region(va + 800 * page, page), scattered(1)), HCA_OK);
  t.set[va + 800 * page] = {page, t.b.space.handle};
  ASSERT_EQ(t.b.x_remove(t.key, 1), HCA_OK) << "all of them but the one that came last";
  std::erase_if(t.set, [](const auto& x) { return x.second.handle == 1; });
  t.compare();
  EXPECT_EQ(t.b.usage().extent_lines, 0U);
}

}  // namespace
