// Ten thousand random changes of an address space against a set of intervals. At every step of the firmware an access sees the
// old set or the new one, never a mixture and never a gap [S11].
#include <gtest/gtest.h>

#include <random>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

struct piece {
  std::uint64_t va, length;
  std::uint32_t handle;
  std::uint64_t salt;  // which memory backs it
};
using pieces = std::vector<piece>;  // sorted

std::uint64_t frame(std::uint64_t va_page, std::uint64_t salt) {
  return 0x100000000 + (salt << 40) + 2 * (va_page & 0xffffff) * page;
}

class reference {
 public:
  pieces set;
  std::uint64_t shift = 0;  // by remapping; a piece's memory is named by its VA before any move

  [[nodiscard]] std::optional<std::uint64_t> at(const pieces& p, std::uint64_t va, std::uint64_t moved) const {
    for (const piece& x : p) {
      if (va - (x.va + moved) < x.length) return frame((va - shift - moved) / page, x.salt) + va % page;
    }
    return {};
  }
};

class random_space : public ::testing::TestWithParam<unsigned> {
 protected:
  random_space() : b(limits()), random(GetParam()) {}

  static fw_limits limits() {
    fw_limits l = small_limits();
    l.max_table_bytes = 16 * MiB;
    l.max_segments = 256;
    l.max_extent_lines = 128;
    return l;
  }
  std::uint64_t pick(std::uint64_t n) { return random() % n; }

  // Probes the edges of all pieces and the pages around them.
  static void probes(const pieces& p, std::uint64_t moved, std::vector<std::uint64_t>& out) {
    for (const piece& x : p) {
      for (const std::uint64_t va : {x.va - 1, x.va, x.va + x.length / 2, x.va + x.length - 1, x.va + x.length})
        out.push_back(va + moved);
    }
  }
  bool looks_like(const hca_mrc& m, const pieces& p, std::uint64_t moved, const pieces& other) {
    points_.clear();
    probes(p, moved, points_);
    probes(other, 0, points_);
    return std::all_of(points_.begin(), points_.end(),
                       [&](std::uint64_t va) { return b.translate(m, va) == model.at(p, va, moved); });
  }
  void watch(const pieces& next, bool remap) {
    b.h.observer = [this, next, remap](const hal::call&) {
      const hca_mrc m = b.mrc(key);
      if (m.state != HCA_MRC_VALID) {
        EXPECT_TRUE(next.empty()) << "a gap";
        return;
      }
      if (looks_like(m, model.set, 0, next)) return;
      ASSERT_FALSE(next.empty());
      const std::uint64_t moved = m.start - next.front().va;
      EXPECT_TRUE(remap || moved == 0);
      EXPECT_TRUE(looks_like(m, next, moved, model.set)) << "a mixture";
    };
  }
  void finish(int status, int expected, pieces next) {
    b.h.observer = nullptr;
    ASSERT_EQ(status, expected);
    if (status != HCA_OK) {
      if (key != 0) {
        ASSERT_TRUE(looks_like(b.mrc(key), model.set, 0, {}));
      }
      return;
    }
    if (next.empty()) {
      ASSERT_EQ(b.space.length, 0U);
      model.set.clear();
      key = 0;
      return;
    }
    const std::uint64_t moved = b.space.start - next.front().va;
    for (piece& p : next) p.va += moved;
    model.shift += moved;
    const pieces old = model.set;
    model.set = std::move(next);
    std::uint64_t bytes = 0;
    for (const piece& p : model.set) bytes += p.length;
    ASSERT_EQ(b.space.length, bytes);
    ASSERT_EQ(b.space.end, model.set.back().va + model.set.back().length);
    ASSERT_EQ(b.space.segments, model.set.size());
    ASSERT_TRUE(looks_like(b.mrc(key), model.set, 0, old));
  }

  std::vector<hca_chunk> chunks_of(std::uint64_t va, std::uint64_t length, std::uint64_t salt) {
    std::vector<hca_chunk> c;
    for (std::uint64_t p = va / page; p <= (va + length - 1) / page; p++)
      c.push_back({frame(p - model.shift / page, salt), page});
    return c;
  }
  static bool fits(const piece& n, const pieces& among) {
    for (const piece& p : among) {
      if (n.va < p.va + p.length && p.va < n.va + n.length) return false;
      const bool touch = n.va / page <= (p.va + p.length - 1) / page && p.va / page <= (n.va + n.length - 1) / page;
      if (touch && p.salt != n.salt) return false;
    }
    return true;
  }

  void add() {
    static constexpr std::uint64_t clusters[] = {0x7f0000000000, 0x7f0000600000, 0x7f0080000000, 0x7effc0000000,
                                                 0x555500000000};
    const bool aligned = pick(3) != 0;
    const std::uint64_t unit = aligned ? page : 512;
    piece n{clusters[pick(pick(4) == 0 ? 5 : 2)] + pick(64 * page / unit) * unit + model.shift,
            (1 + pick(6 * page / unit)) * unit, 0, pick(8) == 0};
    hca_region r = region(n.va, n.length);
    std::vector<hca_chunk> chunks;
    const bool remap = key != 0 && pick(16) == 0;
    const bool any = key != 0 && pick(4) == 0;
    if (any) {
      const piece& last = model.set.back();
      const std::uint64_t end = last.va + last.length;
      n.va = (n.va % page == end % page && (end % page == 0 || last.salt == n.salt))
                 ? end
                 : (end + page - 1) / page * page + n.va % page;
    }
    if (key != 0 && pick(3) == 0) r.leaving = pick(8) == 0 ? 0x7fffffff : model.set[pick(model.set.size())].handle;
    pieces next;
    pieces gone;
    for (const piece& p : model.set) (r.leaving == 0 || p.handle != r.leaving ? next : gone).push_back(p);
    // Other pages under the same VAs, if the handle has no other segment.
    if (!any && !gone.empty() && pick(3) == 0) {
      n = {gone.front().va, gone.front().length, 0, 1 - gone.front().salt};
      r.length = n.length;
      r.first_offset = n.va % page;
    }
    const bool replaces = !any && gone.size() == 1 && n.va == gone.front().va && n.length == gone.front().length;
    chunks = chunks_of(n.va, n.length, n.salt);
    r.va = any ? HCA_VA_ANY : n.va;
    int expected = fits(n, replaces ? next : model.set) ? HCA_OK : HCA_BAD_PARAMETER;
    replaced += replaces && expected == HCA_OK;
    if (key == 0) {
      ASSERT_EQ(b.x_register(r, chunks), HCA_OK);
      key = b.space.key;
      n.handle = b.space.handle;
      model.set = {n};
      return;
    }
    if (expected == HCA_OK && r.leaving != 0 && next.size() == model.set.size()) expected = HCA_BAD_OBJECT;
    n.handle = 0;
    next.push_back(n);
    std::sort(next.begin(), next.end(), [](const piece& x, const piece& y) { return x.va < y.va; });
    watch(next, remap);
    const int status = b.x_reregister(key, r, chunks, remap ? HCA_X_REMAP : 0);
    for (piece& p : next) p.handle = p.handle == 0 ? b.space.handle : p.handle;
    finish(status, expected, next);
  }

  void remove_handle() {
    const std::uint32_t handle = pick(8) == 0 ? 0x7fffffff : model.set[pick(model.set.size())].handle;
    const bool remap = pick(16) == 0;
    pieces next;
    for (const piece& p : model.set) {
      if (p.handle != handle) next.push_back(p);
    }
    watch(next, remap);
    finish(b.x_remove(key, handle, 0, 0, remap ? HCA_X_REMAP : 0), next.size() == model.set.size() ? HCA_BAD_OBJECT : HCA_OK,
           next);
  }

  void remove_range() {
    const piece& p = model.set[pick(model.set.size())];
    const std::uint64_t unit = pick(4) == 0 ? 512 : page;
    std::uint64_t from = pick(2) ? p.va : (p.va + pick(p.length)) / unit * unit;
    std::uint64_t to = pick(2) ? p.va + p.length : from + (1 + pick(8)) * unit;
    if (to <= from) to = from + unit;
    std::uint64_t covered = 0;
    bool begins = from % page == 0;
    bool ends = to % page == 0;
    pieces next;
    for (const piece& x : model.set) {
      const std::uint64_t lo = std::max(from, x.va);
      const std::uint64_t hi = std::min(to, x.va + x.length);
      begins = begins || x.va == from;
      ends = ends || x.va + x.length == to;
      if (lo >= hi) {
        next.push_back(x);
        continue;
      }
      covered += hi - lo;
      if (x.va < lo) next.push_back({x.va, lo - x.va, x.handle, x.salt});
      if (hi < x.va + x.length) next.push_back({hi, x.va + x.length - hi, x.handle, x.salt});
    }
    const bool legal = covered == to - from && begins && ends;
    const bool remap = pick(16) == 0;
    watch(legal ? next : model.set, remap);
    finish(b.x_remove(key, 0, from, to - from, remap ? HCA_X_REMAP : 0), legal ? HCA_OK : HCA_BAD_PARAMETER, next);
  }

  firmware_bench b;
  std::mt19937_64 random;
  reference model;
  std::uint32_t key = 0;
  unsigned replaced = 0;  // exchanges in place
  std::vector<std::uint64_t> points_;
};

TEST_P(random_space, follows_the_reference) {
  for (unsigned step = 0; step < steps(2500) && !HasFatalFailure() && !HasNonfatalFailure(); step++) {
    SCOPED_TRACE(step);
    const bool full = model.set.size() > 20;
    if (key == 0 || (!full && pick(5) < 3)) {
      add();
    } else if (pick(2) == 0) {
      remove_handle();
    } else {
      remove_range();
    }
    if (key != 0 && pick(500) == 0) {
      ASSERT_EQ(b.x_teardown(key), HCA_OK);
      key = 0;
      model.set.clear();
    }
    if (key == 0) {
      model.shift = 0;
      ASSERT_EQ(b.usage().table_bytes, 0U);
      ASSERT_EQ(b.usage().extent_lines, 0U);
      ASSERT_EQ(b.usage().segments, 0U);
    }
  }
  EXPECT_TRUE(b.h.events.empty());
  EXPECT_GT(replaced, steps(2500) / 125);
}

INSTANTIATE_TEST_SUITE_P(seeds, random_space, ::testing::Values(1, 2, 3, 4));

}  // namespace
