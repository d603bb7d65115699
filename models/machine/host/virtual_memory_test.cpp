#include "models/machine/host/virtual_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>
#include <chrono>
#include <set>

#include "models/machine/host/physical_memory.h"
#include "tlm/base/units.h"

namespace hcasim {
namespace {

using run = virtual_memory::frame_run;
using runs = std::vector<run>;

std::uint64_t total(const runs& r) {
  std::uint64_t n = 0;
  for (const run& x : r) n += x.bytes;
  return n;
}

TEST(virtual_memory, scattered_frames_are_distinct_and_hardly_ever_adjacent) {
  physical_memory m;
  virtual_memory v(m, 1);
  const std::uint64_t va = v.allocate(16_MiB);
  std::set<std::uint64_t> frames;
  unsigned adjacent = 0;
  for (std::uint64_t o = 0; o < 16_MiB; o += 4096) {
    frames.insert(v.translate(va + o));
    if (o && v.translate(va + o) == v.translate(va + o - 4096) + 4096) ++adjacent;
    ASSERT_EQ(v.translate(va + o + 123), v.translate(va + o) + 123);
  }
  EXPECT_EQ(frames.size(), 4096u);
  EXPECT_LT(adjacent, 10u);
  EXPECT_EQ(v.translate(va - 1), 0u);
  EXPECT_EQ(v.translate(va + 16_MiB), 0u);
}

TEST(virtual_memory, same_seed_same_frames_and_processes_never_share) {
  physical_memory m1;
  physical_memory m2;
  virtual_memory a(m1, 5);
  virtual_memory b(m2, 5);
  virtual_memory c(m1, 6);
  const std::uint64_t va = a.allocate(1_MiB);
  const std::uint64_t vb = b.allocate(1_MiB);
  const std::uint64_t vc = c.allocate(1_MiB);
  ASSERT_EQ(va, vb);
  std::set<std::uint64_t> frames;
  for (std::uint64_t o = 0; o < 1_MiB; o += 4096) {
    ASSERT_EQ(a.translate(va + o), b.translate(vb + o));
    frames.insert(a.translate(va + o));
    frames.insert(c.translate(vc + o));
  }
  EXPECT_EQ(frames.size(), 512u);
}

TEST(virtual_memory, contiguous_and_huge_pages) {
  physical_memory m;
  virtual_memory v(m, 1);
  runs r;
  const std::uint64_t c = v.allocate(10 * 4096 + 1, page_policy::contiguous);
  EXPECT_EQ(v.pin(c, 10 * 4096 + 1, true, r), 0);
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].bytes, 11u * 4096);

  const std::uint64_t h = v.allocate(64_MiB - 5, page_policy::huge_2m);
  EXPECT_EQ(h % 2_MiB, 0u);
  EXPECT_EQ(v.pin(h, 64_MiB, true, r), 0);
  EXPECT_EQ(total(r), 64_MiB);
  for (const run& x : r) {
    EXPECT_EQ(x.physical % 2_MiB, 0u);
    EXPECT_EQ(x.bytes % 2_MiB, 0u);
  }
  EXPECT_GT(r.size(), 16u);

  const std::uint64_t g = v.allocate(3_GiB, page_policy::huge_1g);
  EXPECT_EQ(g % 1_GiB, 0u);
  EXPECT_EQ(v.translate(g + 2_GiB) % 1_GiB, 0u);
  EXPECT_EQ(m.resident_bytes(), 0u);
}

TEST(virtual_memory, a_tebibyte_of_huge_pages_is_quick) {
  physical_memory m;
  virtual_memory v(m, 1);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t va = v.allocate(1_TiB, page_policy::huge_2m);
  ASSERT_NE(va, 0u);
  const std::chrono::duration<double> allocated = std::chrono::steady_clock::now() - begin;
  runs r;
  ASSERT_EQ(v.pin(va, 1_TiB, true, r), 0);
  EXPECT_EQ(total(r), 1_TiB);
  v.unpin(va, 1_TiB);
  v.free(va);
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", static_cast<int>(all.count() * 1000));
  EXPECT_LT(allocated.count(), 2);  // 10 ms on an idle machine
  EXPECT_LT(all.count(), 10);
  EXPECT_EQ(m.resident_bytes(), 0u);
}

TEST(virtual_memory, chosen_addresses_and_frames) {
  physical_memory m;
  virtual_memory v(m, 1);
  const std::uint64_t va = 0x7000'0000'0000;
  EXPECT_EQ(v.allocate(8192, page_policy::scattered, va), va);
  EXPECT_EQ(v.allocate(4096, page_policy::scattered, va + 4096), 0u);  // taken
  EXPECT_EQ(v.allocate(8192, page_policy::scattered, va - 4096), 0u);  // reaches into it
  EXPECT_EQ(v.allocate(4096, page_policy::scattered, va + 8192), va + 8192);
  EXPECT_EQ(v.allocate(4096, page_policy::scattered, va + 1), 0u);
  EXPECT_EQ(v.allocate(4096, page_policy::huge_2m, va + 0x10000), 0u);

  // [E5]: 3 x 4 KiB that are adjacent become one element of 12 KiB.
  const runs frames{{0x10000, 4096}, {0x11000, 4096}, {0x12000, 4096}, {0x90000, 8192}, {0xfff'0000'0000'0000, 4096}};
  ASSERT_TRUE(v.map(0x200000, frames));
  EXPECT_FALSE(v.map(0x201000, frames));
  EXPECT_FALSE(v.map(0x900000, runs{}));
  EXPECT_FALSE(v.map(0x900000, runs{{0x123, 4096}}));
  runs r;
  ASSERT_EQ(v.pin(0x200000, 6 * 4096, true, r), 0);
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[0].bytes, 12288u);
  EXPECT_EQ(r[1].physical, 0x90000u);
  EXPECT_EQ(r[2].physical, 0xfff'0000'0000'0000u);
  ASSERT_EQ(v.pin(0x201800, 4096, true, r), 0);  // starts and ends inside pages
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].physical, 0x11000u);
  EXPECT_EQ(r[0].bytes, 8192u);
  EXPECT_EQ(v.translate(0x204004), 0x91004u);
  v.free(0x200000);
  EXPECT_EQ(v.translate(0x204004), 0u);
  EXPECT_TRUE(v.map(0x200000, frames));
}

TEST(virtual_memory, pin_errors) {
  physical_memory m;
  virtual_memory v(m, 1);
  runs r;
  const std::uint64_t ro = v.allocate(8192, page_policy::scattered, 0, false);
  EXPECT_EQ(v.pin(ro, 8192, true, r), EFAULT);
  EXPECT_EQ(v.pin(ro, 8192, false, r), 0);
  EXPECT_EQ(v.pin(ro, 8193, false, r), EFAULT);
  EXPECT_EQ(v.pin(0x5000, 1, false, r), EFAULT);
  EXPECT_EQ(v.pin(ro, 0, false, r), EINVAL);  // no page [B3.3]
  EXPECT_EQ(v.pin(ro + 1, 0, false, r), 0);   // one page [B3.3]
  EXPECT_EQ(v.pin(~0ULL - 10, 100, false, r), EINVAL);
  EXPECT_EQ(v.pin(~0ULL - 10, 5, false, r), EINVAL);  // the rounded end wraps
  EXPECT_EQ(v.pinned_bytes(), 12288u);
  v.set_pin_limit(16384);
  EXPECT_EQ(v.pin(ro, 8192, false, r), ENOMEM);
  EXPECT_EQ(v.pin(ro, 4096, false, r), 0);
  EXPECT_EQ(v.pinned_bytes(), 16384u);
  EXPECT_EQ(v.pin(ro, 1, false, r), ENOMEM);
  v.unpin(ro, 8192);
  EXPECT_EQ(v.pin(ro, 1, false, r), 0);
}

TEST(virtual_memory, pins_span_neighbouring_allocations) {
  physical_memory m;
  virtual_memory v(m, 1);
  v.allocate(8192, page_policy::scattered, 0x100000);
  v.allocate(8192, page_policy::contiguous, 0x102000);
  runs r;
  ASSERT_EQ(v.pin(0x101000, 8192, true, r), 0);
  EXPECT_EQ(total(r), 8192u);
  EXPECT_EQ(r[0].physical, v.translate(0x101000));
  v.unpin(0x101000, 8192);
  EXPECT_EQ(v.pinned_bytes(), 0u);
}

TEST(virtual_memory, pinned_frames_outlive_their_mapping) {
  physical_memory m;
  virtual_memory v(m, 1);
  runs r;
  runs r2;
  const std::uint64_t va = v.allocate(4096, page_policy::contiguous);
  v.pin(va, 4096, true, r);
  v.pin(va, 4096, true, r2);
  m.put<std::uint64_t>(r[0].physical, 42);
  v.free(va);
  EXPECT_EQ(v.translate(va), 0u);
  ASSERT_EQ(v.allocate(4096, page_policy::contiguous, va), va);  // the same address, other frames
  EXPECT_NE(v.translate(va), r[0].physical);
  ASSERT_EQ(v.pin(va, 4096, true, r2), 0);
  EXPECT_NE(r2[0].physical, r[0].physical);

  v.unpin(va, 4096);  // oldest first
  EXPECT_EQ(m.get<std::uint64_t>(r[0].physical), 42u);
  v.unpin(va, 4096);
  EXPECT_EQ(m.get<std::uint64_t>(r[0].physical), 0u);  // gone back
  EXPECT_EQ(v.pinned_bytes(), 4096u);
  const std::uint64_t again = v.allocate(4096, page_policy::contiguous);
  EXPECT_EQ(v.translate(again), r[0].physical);
  v.unpin(va, 4096);
  EXPECT_EQ(v.pinned_bytes(), 0u);
  v.unpin(va, 4096);  // nothing left: no effect
  EXPECT_EQ(v.pinned_bytes(), 0u);
}

TEST(virtual_memory, freed_scattered_frames_come_back_clean) {
  physical_memory m;
  virtual_memory v(m, 1);
  const std::uint64_t va = v.allocate(8192);
  const std::uint64_t frame = v.translate(va);
  m.put<std::uint64_t>(frame, 9);
  v.free(va);
  const std::uint64_t vb = v.allocate(8192);
  EXPECT_EQ(v.translate(vb), frame);
  EXPECT_EQ(m.get<std::uint64_t>(frame), 0u);
}

TEST(virtual_memory, read_and_write_cross_scattered_pages) {
  physical_memory m;
  virtual_memory v(m, 1);
  const std::uint64_t va = v.allocate(12288);
  std::vector<std::byte> a(9000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::byte>(i * 7);
  std::vector<std::byte> b(9000);
  EXPECT_TRUE(v.write(va + 1000, a));
  EXPECT_TRUE(v.read(va + 1000, b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(m.get<std::uint8_t>(v.translate(va + 8192)), static_cast<std::uint8_t>((8192 - 1000) * 7));
  EXPECT_FALSE(v.write(va + 8192, a));
  EXPECT_FALSE(v.read(va - 1, b));
}

// Against counts per page: whole and partial unpins, frees, and what stays reserved.
TEST(virtual_memory, pins_equal_a_count_per_page) {
  rc::check("refcounts", [] {
    physical_memory m;
    virtual_memory v(m, 3);
    const std::uint64_t base = 0x100000;
    const std::uint64_t pages = 24;
    v.allocate(pages / 2 * 4096, page_policy::scattered, base);
    v.allocate(pages / 2 * 4096, page_policy::contiguous, base + pages / 2 * 4096);
    std::vector<std::uint64_t> count(pages);
    std::uint64_t sum = 0;
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      const auto first = *rc::gen::inRange<std::uint64_t>(0, pages);
      const auto n = *rc::gen::inRange<std::uint64_t>(1, pages - first + 1);
      runs r;
      if (*rc::gen::arbitrary<bool>()) {
        RC_ASSERT(v.pin(base + first * 4096, n * 4096, true, r) == 0);
        RC_ASSERT(total(r) == n * 4096);
        std::uint64_t at = first;
        for (const run& x : r) {
          for (std::uint64_t o = 0; o < x.bytes; o += 4096) RC_ASSERT(v.translate(base + at++ * 4096) == x.physical + o);
        }
        for (std::uint64_t p = first; p < first + n; ++p) ++count[p];
        sum += n;
      } else {
        v.unpin(base + first * 4096, n * 4096);
        for (std::uint64_t p = first; p < first + n; ++p) {
          if (count[p]) --count[p], --sum;
        }
      }
      RC_ASSERT(v.pinned_bytes() == sum * 4096);
    }
  });
}

TEST(virtual_memory, a_range_pinned_again_after_part_of_it_was_unpinned_keeps_its_count) {
  physical_memory bytes;
  virtual_memory m(bytes, 1);
  const std::uint64_t at = m.allocate(6 * 4096);
  std::vector<virtual_memory::frame_run> frames;
  ASSERT_EQ(m.pin(at, 6 * 4096, true, frames), 0);
  m.unpin(at, 2 * 4096);
  ASSERT_EQ(m.pin(at, 6 * 4096, true, frames), 0);
  m.unpin(at, 6 * 4096);
  EXPECT_EQ(m.pinned_bytes(), 4 * 4096U);
  m.unpin(at + 2 * 4096, 4 * 4096);
  EXPECT_EQ(m.pinned_bytes(), 0U);
}

}  // namespace
}  // namespace hcasim
