#include "models/adapter/completion/completion_rules.h"

#include <gtest/gtest.h>

namespace hcasim::completion_rules {
namespace {

TEST(completion_rules, owner_is_one_in_the_first_pass_and_toggles_at_each_wrap) {
  const ring_geometry ring{2};
  for (std::uint32_t pi = 0; pi < 32; ++pi) EXPECT_EQ(ring.owner(pi), (pi / 4) % 2 == 0 ? 1 : 0) << pi;
  // Indices wrap at 2^32, in step with the ring.
  EXPECT_EQ(ring.owner(0xffffffff), 0);
  EXPECT_EQ(ring.slot(0xffffffff), 3U);
}

TEST(completion_rules, full_means_all_entries_unconsumed) {
  const ring_geometry ring{3};
  EXPECT_FALSE(ring.full(7, 0));
  EXPECT_TRUE(ring.full(8, 0));
  EXPECT_FALSE(ring.full(8, 1));
  EXPECT_TRUE(ring.full(3, 0xfffffffb));
  EXPECT_FALSE(ring.full(2, 0xfffffffb));
}

TEST(completion_rules, entries_of_a_buffer) {
  EXPECT_EQ(ring_geometry{log_entries(12, 6)}.entries(), 64U);
  EXPECT_EQ(ring_geometry{log_entries(12, 5)}.entries(), 128U);
  EXPECT_EQ(ring_geometry{log_entries(6, 6)}.entries(), 1U);
}

TEST(completion_rules, consumer_index_moves_forward_up_to_the_producer) {
  EXPECT_TRUE(plausible(5, 5, 9));
  EXPECT_TRUE(plausible(9, 5, 9));
  EXPECT_FALSE(plausible(10, 5, 9));
  EXPECT_FALSE(plausible(4, 5, 9));
  EXPECT_TRUE(plausible(1, 0xfffffffe, 2));
}

TEST(completion_rules, an_armed_cq_counts_the_cqes_it_waits_for) {
  hca_cqc cq{};
  hca_cqe plain{};
  hca_cqe wanted{};
  wanted.flags = HCA_CQE_SOLICITED;
  hca_cqe error{};
  error.status = HCA_WC_WR_FLUSH_ERR;
  EXPECT_FALSE(counts(cq, wanted));
  cq.arm = HCA_ARM_NEXT;
  EXPECT_TRUE(counts(cq, plain));
  cq.arm = HCA_ARM_SOLICITED;
  EXPECT_FALSE(counts(cq, plain));
  EXPECT_TRUE(counts(cq, wanted));
  EXPECT_TRUE(counts(cq, error));
}

TEST(completion_rules, arming_notices_cqes_that_came_before) {
  hca_cqc cq{};
  cq.pi = 10;
  cq.ci = 8;
  cq.solicited_pi = 8;
  EXPECT_FALSE(missed(cq));
  cq.arm = HCA_ARM_NEXT;
  EXPECT_TRUE(missed(cq));
  cq.arm = HCA_ARM_SOLICITED;
  EXPECT_FALSE(missed(cq));  // consumed already
  cq.solicited_pi = 9;
  EXPECT_TRUE(missed(cq));
  cq.ci = 10;
  EXPECT_FALSE(missed(cq));
}

}  // namespace
}  // namespace hcasim::completion_rules
