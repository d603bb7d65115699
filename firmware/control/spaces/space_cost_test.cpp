// The cost of a change of one segment: the same with eight segments and with a thousand.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

constexpr std::uint64_t segment_pages = 4;

struct cost {
  std::uint64_t looked_at = 0;  // chunks, segments, entries, bitmap words
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;  // by DMA, both ways
  std::uint64_t other = 0;  // fences, drops, drains

  void operator+=(const cost& c) {
    looked_at += c.looked_at;
    reads += c.reads;
    bytes += c.bytes;
    other += c.other;
  }
};

// A space of segments, touching or with holes between them, that slides: the first one leaves, one comes at the end.
class sliding_space {
 public:
  explicit sliding_space(std::uint64_t segments, std::uint32_t access = 0, std::uint64_t hole_pages = 0)
      : b(limits()), rights_(access), hole_(hole_pages * page) {
    for (std::uint64_t i = 0; i < segments; i++) EXPECT_EQ(change(false), HCA_OK);
  }
  int exchange() { return change(true); }
  int remove_first() {
    const std::uint32_t handle = handles_.front();
    handles_.pop_front();
    return b.x_remove(key, handle);
  }
  int add() { return change(false); }

  template <class F>
  cost of(F&& change_of) {
    b.h.work = {};
    b.h.log.clear();
    b.h.logging = true;
    EXPECT_EQ(change_of(), HCA_OK);
    b.h.logging = false;
    cost c;
    c.looked_at = b.h.work[HAL_WORK_CHUNK] + b.h.work[HAL_WORK_ENTRY] + b.h.work[HAL_WORK_BITMAP];
    for (const hal::call& x : b.h.log) {
      const bool dma = x.what == hal::op::read || x.what == hal::op::write;
      c.reads += x.what == hal::op::read;
      c.bytes += dma ? x.b : 0;
      c.other += !dma;
    }
    return c;
  }

  firmware_bench b;
  std::uint32_t key = 0;

 private:
  static fw_limits limits() {
    fw_limits l = small_limits();
    l.max_segments = 4096;
    l.max_extent_lines = 4096;
    l.max_table_bytes = 64 * MiB;
    return l;
  }
  int change(bool one_leaves) {
    hca_region r = region(next_, segment_pages * page, HCA_ACCESS_LOCAL_WRITE | rights_);
    if (one_leaves) {
      r.leaving = handles_.front();
      handles_.pop_front();
    }
    next_ += segment_pages * page + hole_;
    const std::vector<hca_chunk> memory{{0x100000000, segment_pages * page}};
    const int status = key == 0 ? b.x_register(r, memory) : b.x_reregister(key, r, memory);
    key = b.space.key;
    handles_.push_back(b.space.handle);
    return status;
  }

  std::uint32_t rights_;
  std::uint64_t hole_;
  std::uint64_t next_ = 0x7f0000000000;
  std::deque<std::uint32_t> handles_;
};

// Sixty-four changes, because the number of turns of the tree differs from one to the next.
template <class F>
cost of_many(sliding_space& s, F&& change) {
  cost sum;
  for (int i = 0; i < 64; i++) sum += s.of([&] { return change(s); });
  return sum;
}

template <class F>
void costs_the_same(F&& change) {
  sliding_space few(8);
  sliding_space many(1000);
  const cost a = of_many(few, change);
  const cost b = of_many(many, change);
  EXPECT_LE(static_cast<double>(b.looked_at), 1.15 * static_cast<double>(a.looked_at));
  EXPECT_LE(b.reads, a.reads + 2) << "a leaf more or less";
  EXPECT_LE(b.bytes, a.bytes + 2 * page);
  EXPECT_LE(b.other, a.other + 4);
}

TEST(space_cost, of_an_exchange) {
  costs_the_same([](sliding_space& s) { return s.exchange(); });
}
TEST(space_cost, of_removing_and_adding) {
  costs_the_same([](sliding_space& s) {
    const int status = s.remove_first();
    return status == HCA_OK ? s.add() : status;
  });
}

// The mailbox is all that a change inside a leaf reads, and the MRC is dropped once.
TEST(space_cost, reads_nothing_but_the_mailbox) {
  sliding_space s(20);
  EXPECT_EQ(s.of([&] { return s.exchange(); }).reads, 1U);
  const auto drops =
      std::count_if(s.b.h.log.begin(), s.b.h.log.end(), [](const hal::call& c) { return c.what == hal::op::drop; });
  EXPECT_EQ(drops, 1);
  EXPECT_EQ(s.of([&] { return s.remove_first(); }).reads, 1U);
  EXPECT_EQ(s.of([&] { return s.add(); }).reads, 1U);
}

// The data path counts windows in the MRC if they may be bound; the firmware then reads the count.
TEST(space_cost, windows_are_counted_in_the_entry) {
  sliding_space s(20, HCA_ACCESS_MW_BIND);
  EXPECT_EQ(s.of([&] { return s.exchange(); }).reads, 2U);
}

// With holes, a change makes and frees the lines from the root to its two places, and their neighbours where they are joined.
TEST(space_cost, with_holes_lines_of_two_paths) {
  for (const std::uint64_t segments : {8U, 64U, 256U, 1000U}) {
    SCOPED_TRACE(segments);
    sliding_space s(segments, 0, 1);
    const hca_init areas = s.b.areas();
    const std::uint32_t levels = s.b.mrc(s.key).extent_count;
    EXPECT_LE(levels, 2 + std::log(static_cast<double>(segments) / 4) / std::log(3.0));
    std::uint64_t made = 0;
    std::uint64_t left = 0;
    std::uint64_t looked_at = 0;
    std::uint64_t reads = 0;
    constexpr std::uint64_t changes = 64;
    for (std::uint64_t i = 0; i < changes; i++) {
      reads += s.of([&] { return s.exchange(); }).reads;
      looked_at += s.b.h.work[HAL_WORK_CHUNK];
      for (const hal::call& c : s.b.h.log) {
        const bool of_lines = c.a - areas.extent_base < areas.extent_lines * 64ULL;
        if (c.what == hal::op::write && of_lines) made += c.b / 64;
        left += c == hal::call{hal::op::drop, HAL_CACHE_EXTENT, c.b};
      }
    }
    EXPECT_LE(reads, changes + 8) << "the mailbox, and where a leaf begins";
    EXPECT_LE(made, changes * 4 * levels);
    EXPECT_LE(left, changes * 4 * levels);
    EXPECT_LE(looked_at, changes * (24 + 10 * levels));
  }
}

// Growth alone frees nothing, so nothing is waited for.
TEST(space_cost, growth_drains_nothing) {
  sliding_space s(20);
  s.of([&] { return s.add(); });
  for (const hal::call& c : s.b.h.log) EXPECT_NE(c.what, hal::op::drain);
}

}  // namespace
