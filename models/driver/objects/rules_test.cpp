// Rules of registration, of page lists, and of address spaces, without a kernel.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "models/driver/device/status.h"
#include "models/driver/objects/page_list.h"
#include "models/driver/objects/registration_rules.h"
#include "models/driver/objects/space_map.h"
#include "models/driver/verbs/verbs.h"

namespace hcasim::driver {
namespace {

using namespace verbs;
using run = virtual_memory::frame_run;

TEST(Status, Errno) {
  EXPECT_EQ(to_errno(HCA_OK), 0);
  EXPECT_EQ(to_errno(HCA_BAD_PARAMETER), EINVAL);
  EXPECT_EQ(to_errno(HCA_BAD_OBJECT), ENOENT);
  EXPECT_EQ(to_errno(HCA_BAD_STATE), EINVAL);
  EXPECT_EQ(to_errno(HCA_NO_RESOURCES), ENOMEM);
  EXPECT_EQ(to_errno(HCA_BUSY), EBUSY);
  EXPECT_EQ(to_errno(HCA_BAD_LENGTH), EINVAL);
  EXPECT_EQ(to_errno(HCA_MEMORY_FAULT), EFAULT);
  EXPECT_EQ(to_errno(HCA_UNSUPPORTED), EOPNOTSUPP);
  EXPECT_EQ(to_errno(200), EIO);
}

TEST(Keys, TC_K06_IncrementWrapsInTheByte) {
  EXPECT_EQ(ibv_inc_rkey(0x123400), 0x123401U);
  EXPECT_EQ(ibv_inc_rkey(0x1234ff), 0x123400U);
}

// Every combination of the rights of libibverbs.
TEST(Registration, AccessExhaustively) {
  for (std::uint32_t a = 0; a < 1024; ++a) {
    const bool remote_write = a & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    const bool unsupported = a & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT);
    const int expected = remote_write && !(a & IBV_ACCESS_LOCAL_WRITE) ? EINVAL : unsupported ? EOPNOTSUPP : 0;
    EXPECT_EQ(check_access(a), expected) << a;
    EXPECT_EQ(needs_writable(a), (a & 0x1b) != 0) << a;
  }
  for (unsigned bit = 10; bit < 32; ++bit) {
    const bool optional = bit >= 20 && bit < 30;
    EXPECT_EQ(check_access(1U << bit), optional ? 0 : EINVAL) << bit;
    EXPECT_EQ(known_access(1U << bit) == 0, optional && bit != 20) << bit;
  }
}

TEST(Registration, Ranges) {
  EXPECT_FALSE(range_wraps(0x1000, 0x1000));
  EXPECT_TRUE(range_wraps(~0ULL - 10, 100));
  EXPECT_TRUE(range_wraps(~0ULL - 10, 5));  // the last page's end wraps
  EXPECT_TRUE(congruent(0x12345, 0x99345));
  EXPECT_FALSE(congruent(0x12345, 0x12346));
  EXPECT_EQ(pages_of(0x1000, 0), 0U);
  EXPECT_EQ(pages_of(0x1fff, 2), 2U);
  EXPECT_EQ(pages_of(0x1000, 4096), 1U);

  EXPECT_EQ(bytes_to_pin(0x1000, 0, zero_length_policy::accept).error, 0);
  EXPECT_EQ(bytes_to_pin(0x1000, 0, zero_length_policy::refuse).error, EINVAL);
  EXPECT_EQ(bytes_to_pin(0x1000, 0, zero_length_policy::page_count).error, EINVAL);
  EXPECT_EQ(bytes_to_pin(0x1008, 0, zero_length_policy::page_count).bytes, 1U);
}

TEST(PageList, RunsBecomeChunks) {
  std::vector<hca_chunk> out;
  const run runs[] = {{0x10000, 0x3000}, {0x20000, 0x1000}};
  append_chunks(runs, 1 << 20, out);
  const run more[] = {{0x21000, 0x2000}};  // goes on where the last one ended
  append_chunks(more, 1 << 20, out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].address, 0x10000U);
  EXPECT_EQ(out[0].length, 0x3000U);
  EXPECT_EQ(out[1].length, 0x3000U);
  out.clear();
  append_chunks(runs, 0x2000, out);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].length, 0x2000U);
  EXPECT_EQ(out[1].address, 0x12000U);
  EXPECT_EQ(out[1].length, 0x1000U);
}

TEST(PageList, UniformPages) {
  constexpr std::uint32_t shifts = 1U << 12 | 1U << 16 | 1U << 21;
  const run contiguous[] = {{0x200000, 0x200000}};
  EXPECT_EQ(uniform_shift(contiguous, shifts), 21U);
  EXPECT_EQ(uniform_shift(contiguous, 1U << 12 | 1U << 16), 16U);
  const run shifted[] = {{0x201000, 0x200000}};
  EXPECT_EQ(uniform_shift(shifted, shifts), 12U);
  const run small[] = {{0x200000, 0x8000}};
  EXPECT_EQ(uniform_shift(small, shifts), 12U);  // 64 KiB would be more than there is
  const run two[] = {{0x40000, 0x20000}, {0x90000, 0x10000}};
  EXPECT_EQ(uniform_shift(two, shifts), 16U);
  EXPECT_EQ(uniform_pages(two, 16), (std::vector<std::uint64_t>{0x40000, 0x50000, 0x90000}));
}

// Against a map from each page to its host page.
TEST(SpaceMap, FollowsAReference) {
  EXPECT_TRUE(rc::check("random adds and removals", [] {
    space_map map;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> reference;  // va -> host, handle
    std::uint64_t host = 0x1000'0000;
    std::uint32_t handle = 1;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t va = *rc::gen::inRange(0U, 64U) * 4096ULL;
      const std::uint64_t pages = *rc::gen::inRange(1U, 9U);
      const int what = *rc::gen::inRange(0, 4);
      std::vector<space_map::range> removed;
      std::map<std::uint64_t, int> expected;
      if (what <= 1) {
        bool free = true;
        for (std::uint64_t p = 0; p < pages; ++p) free = free && !reference.contains(va + p * 4096);
        if (!free) continue;
        map.add({va, pages * 4096, host, handle});
        for (std::uint64_t p = 0; p < pages; ++p) reference[va + p * 4096] = {host + p * 4096, handle};
        host += pages * 4096 + 4096;
        ++handle;
      } else if (what == 2) {
        removed = map.remove(va, pages * 4096);
        for (std::uint64_t p = 0; p < pages; ++p) {
          if (const auto it = reference.find(va + p * 4096); it != reference.end()) {
            ++expected[it->second.first];
            reference.erase(it);
          }
        }
      } else {
        const std::uint32_t h = *rc::gen::inRange(1U, handle + 1);
        removed = map.remove(h);
        std::erase_if(reference, [&](const auto& e) {
          if (e.second.second != h) return false;
          ++expected[e.second.first];
          return true;
        });
      }
      for (const auto& r : removed) {
        for (std::uint64_t at = r.host; at < r.host + r.length; at += 4096) --expected[at];
      }
      for (const auto& [at, n] : expected) RC_ASSERT(n == 0);
      RC_ASSERT(map.empty() == reference.empty());
      if (!reference.empty()) {
        RC_ASSERT(map.start() == reference.begin()->first);
        RC_ASSERT(map.end() == reference.rbegin()->first + 4096);
      }
    }
  }));
}

}  // namespace
}  // namespace hcasim::driver
