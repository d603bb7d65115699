// A bench with an event queue, a completion queue, and queue pairs on their way to RTS.
#pragma once

#include <gtest/gtest.h>

#include "firmware/control/firmware_bench.h"

namespace hcasim::testing {

inline constexpr std::uint32_t rtr_mask =
    HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_IN | HCA_QP_MIN_RNR_TIMER;
inline constexpr std::uint32_t rts_mask =
    HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN | HCA_QP_MAX_READ_OUT;

inline hca_modify_qp attributes(hca_qp_state state) {
  hca_modify_qp a{};
  a.state = static_cast<std::uint8_t>(state);
  a.mtu_shift = 12;
  a.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;
  a.service_level = 3;
  a.retry_count = 7;
  a.rnr_retry = 6;
  a.timeout = 14;
  a.min_rnr_timer = 12;
  a.max_read_out = 16;
  a.max_read_in = 15;
  a.dest_lid = 0x21;
  a.dest_qpn = 0x1234;
  a.sq_psn = 0xabcdef;
  a.rq_psn = 0x123456;
  a.qkey = 0x80010000;
  return a;
}

class queues : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(b.create_eq(), 0U);
    cqn = b.create_cq();
    ASSERT_NE(cqn, ~0U);
  }
  int modify(std::uint32_t qpn, hca_qp_state state, std::uint32_t mask) {
    return b.run(HCA_CMD_MODIFY_QP, qpn, mask, attributes(state));
  }
  std::uint32_t ready_qp() {
    const std::uint32_t qpn = b.create_qp(cqn);
    EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
    EXPECT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_OK);
    EXPECT_EQ(modify(qpn, HCA_QP_RTS, rts_mask), HCA_OK);
    return qpn;
  }
  firmware_bench b;
  std::uint32_t cqn = 0;
};

}  // namespace hcasim::testing
