#include "models/adapter/dma_engine/dma_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace hcasim::dma_rules {
namespace {

TEST(dma_rules, pieces_count_every_aligned_block_touched) {
  for (const std::uint64_t mrrs : {128U, 256U, 512U, 4096U}) {
    for (std::uint64_t address = 0; address < 2 * mrrs; address += 31) {
      for (std::uint64_t bytes = 1; bytes < 3 * mrrs; bytes += 17) {
        const std::uint64_t touched = (address + bytes - 1) / mrrs - address / mrrs + 1;
        ASSERT_EQ(read_pieces(address, bytes, mrrs), touched) << address << " " << bytes;
      }
    }
  }
}

TEST(dma_rules, bursts_cover_a_request_once_and_stay_in_a_page) {
  const bool ok = rc::check([] {
    const std::uint64_t mrrs = 128ULL << *rc::gen::inRange(0, 6);
    const auto tags = *rc::gen::inRange<std::uint64_t>(1, 40);
    const auto buffer = *rc::gen::inRange<std::uint64_t>(64, 10000);
    const auto start = *rc::gen::inRange<std::uint64_t>(0, 20000);
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 20000);
    for (const bool read : {true, false}) {
      std::uint64_t done = 0;
      while (done < bytes) {
        const std::uint64_t at = start + done;
        const std::uint64_t n = read ? read_burst(at, bytes - done, mrrs, tags) : write_burst(at, bytes - done, buffer);
        RC_ASSERT(n > 0U);
        RC_ASSERT(n <= bytes - done);
        RC_ASSERT(at / page == (at + n - 1) / page);
        if (read) RC_ASSERT(read_pieces(at, n, mrrs) <= tags);
        if (!read) RC_ASSERT(n <= buffer);
        // No burst ends before the request, the page or the resource does.
        const bool page_end = (at + n) % page == 0;
        const bool resource_end = read ? read_pieces(at, n + 1, mrrs) > tags : n == buffer;
        RC_ASSERT(n == bytes - done || page_end || resource_end);
        done += n;
      }
    }
  });
  EXPECT_TRUE(ok);
}

TEST(dma_rules, atomics) {
  EXPECT_EQ(modify(dma_op::fetch_add, std::numeric_limits<std::uint64_t>::max(), 2, 0), 1U);
  EXPECT_EQ(modify(dma_op::compare_swap, 7, 9, 7), 9U);
  EXPECT_EQ(modify(dma_op::compare_swap, 7, 9, 8), 7U);
}

TEST(dma_rules, neighbouring_words_use_different_buckets) {
  EXPECT_NE(bucket_of(0, 4), bucket_of(8, 4));
  EXPECT_EQ(bucket_of(0, 4), bucket_of(32, 4));
  EXPECT_EQ(bucket_of(8, 1), 0U);
}

}  // namespace
}  // namespace hcasim::dma_rules
