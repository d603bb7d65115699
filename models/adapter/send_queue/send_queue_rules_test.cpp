#include "models/adapter/send_queue/send_queue_rules.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

TEST(send_queue_rules, an_index_is_news_up_to_half_the_space_ahead) {
  for (const std::uint16_t known : {std::uint16_t{0}, std::uint16_t{0x7fff}, std::uint16_t{0xffff}}) {
    EXPECT_FALSE(is_ahead(known, known));
    EXPECT_TRUE(is_ahead(known, static_cast<std::uint16_t>(known + 1)));
    EXPECT_TRUE(is_ahead(known, static_cast<std::uint16_t>(known + 0x7fff)));
    EXPECT_FALSE(is_ahead(known, static_cast<std::uint16_t>(known + 0x8000)));
    EXPECT_FALSE(is_ahead(known, static_cast<std::uint16_t>(known - 1)));
  }
}

TEST(send_queue_rules, a_fetch_ends_at_what_is_posted_at_the_ring_end_and_at_the_batch) {
  EXPECT_EQ(fetchable(0, 3, 64, 16), 3U);
  EXPECT_EQ(fetchable(0, 40, 64, 16), 16U);
  EXPECT_EQ(fetchable(60, 70, 64, 16), 4U);
  EXPECT_EQ(fetchable(64, 70, 64, 16), 6U);
  EXPECT_EQ(fetchable(0xfffe, 2, 64, 16), 2U);
  EXPECT_EQ(fetchable(5, 5, 64, 16), 0U);
}

TEST(send_queue_rules, a_fence_waits_for_reads_only) {
  hca_wqe_control c{};
  c.opcode = HCA_WQE_SEND;
  c.flags = HCA_WQE_FENCE;
  EXPECT_EQ(why_not(c, 3, 64, 1, 16), issue_block::fence);
  EXPECT_EQ(why_not(c, 3, 64, 0, 16), issue_block::none);
  c.flags = 0;
  EXPECT_EQ(why_not(c, 3, 64, 16, 16), issue_block::none);
}

TEST(send_queue_rules, reads_and_atomics_respect_the_read_depth) {
  hca_wqe_control c{};
  for (const std::uint8_t op : {HCA_WQE_READ, HCA_WQE_COMPARE_SWAP, HCA_WQE_FETCH_ADD}) {
    c.opcode = op;
    EXPECT_EQ(why_not(c, 0, 64, 15, 16), issue_block::none);
    EXPECT_EQ(why_not(c, 0, 64, 16, 16), issue_block::read_depth);
  }
  EXPECT_EQ(why_not(c, 64, 64, 0, 16), issue_block::depth);
}

}  // namespace
}  // namespace hcasim
