// Flips every bit of every kind of entry in ICM, one at a time, before the commands that read the entry. The commands end with
// a status, and undamaged objects go on.
#include <set>

#include "firmware/control/queues/queue_bench.h"

using namespace hcasim::testing;

namespace {

void flip(firmware_bench& b, std::uint64_t address, std::uint64_t bit) {
  const std::uint64_t at = address + bit / 8;
  b.h.put(at, static_cast<std::uint8_t>(b.h.get<std::uint8_t>(at) ^ (1U << bit % 8)));
}

// A life of every undamaged object works, without a catastrophic event.
void expect_alive(firmware_bench& b, std::uint32_t cqn) {
  ASSERT_TRUE(b.h.events.empty());
  const std::uint32_t qpn = b.create_qp(cqn);
  ASSERT_EQ(b.command.status, HCA_OK);
  ASSERT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  ASSERT_EQ(b.register_region(region(0x7000000, 20 * page), scattered(20)), HCA_OK);
  ASSERT_EQ(b.deregister(b.command.result[0]), HCA_OK);
  ASSERT_TRUE(b.h.events.empty());
}

struct bench : firmware_bench {
  bench() {
    create_eq();
    cqn = create_cq();
    other = create_cq();
  }
  std::uint32_t cqn = 0;
  std::uint32_t other = 0;
};

hca_modify_qp in_state(hca_qp_state s) {
  return attributes(s);
}

TEST(damage, of_a_queue_pair) {
  std::set<int> statuses;
  for (std::uint64_t bit = 0; bit < 8 * sizeof(hca_qpc); bit++) {
    SCOPED_TRACE(bit);
    bench b;
    const std::uint32_t qpn = b.create_qp(b.cqn);
    ASSERT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_ACCESS, in_state(HCA_QP_INIT)), HCA_OK);
    ASSERT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask, in_state(HCA_QP_RTR)), HCA_OK);
    flip(b, b.areas().qpc_base + qpn * sizeof(hca_qpc), bit);
    statuses.insert(b.query(HCA_CMD_QUERY_QP, qpn, sizeof(hca_qpc)));
    statuses.insert(b.run(HCA_CMD_MODIFY_QP, qpn, rts_mask, in_state(HCA_QP_RTS)));
    statuses.insert(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE, in_state(HCA_QP_RESET)));
    statuses.insert(b.run(HCA_CMD_DESTROY_QP, qpn));
    expect_alive(b, b.other);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(statuses.contains(HCA_DAMAGED));
}

TEST(damage, of_a_shared_receive_queue) {
  std::set<int> statuses;
  for (std::uint64_t bit = 0; bit < 8 * sizeof(hca_qpc); bit++) {
    SCOPED_TRACE(bit);
    bench b;
    hca_create_srq p{};
    p.log_bytes = 13;
    p.stride_shift = 6;
    p.page_shift = 12;
    p.pages = 2;
    ASSERT_EQ(b.run(HCA_CMD_CREATE_SRQ, 0, 0, p, std::vector<std::uint64_t>{0x10000, 0x20000}), HCA_OK);
    const std::uint32_t srqn = b.command.result[0];
    hca_create_qp of = b.qp_parameters(b.cqn);
    of.rq_pages = of.log_rq_bytes = of.rq_stride_shift = 0;
    of.srqn = srqn;
    std::vector<std::uint64_t> pages(of.sq_pages, 0x30000);
    ASSERT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, of, pages), HCA_OK);
    const std::uint32_t qpn = b.command.result[0];
    flip(b, b.areas().qpc_base + srqn * sizeof(hca_qpc), bit);
    statuses.insert(b.query(HCA_CMD_QUERY_SRQ, srqn, sizeof(hca_qpc)));
    statuses.insert(b.run(HCA_CMD_MODIFY_SRQ, srqn, 3));
    // A limit is reached at once if the damaged address of the record shows too few receives [H12].
    std::erase(b.h.events, std::pair<std::uint32_t, std::uint32_t>(HCA_EVENT_SRQ_LIMIT, srqn));
    EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
    statuses.insert(b.run(HCA_CMD_DESTROY_SRQ, srqn));
    expect_alive(b, b.other);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(statuses.contains(HCA_DAMAGED));
}

// Only the number of a QP's SRQ is wrong.
TEST(damage, of_the_number_of_an_srq) {
  bench b;
  const std::uint32_t qpn = b.create_qp(b.cqn);
  auto q = b.h.get<hca_qpc>(b.areas().qpc_base + qpn * sizeof(hca_qpc));
  q.rq = {};
  q.rq_stride_shift = 0;
  for (const std::uint32_t srqn : {qpn, 63U, 64U, 1U << 20, 0xffffffU}) {
    q.srqn = srqn;
    b.h.put(b.areas().qpc_base + qpn * sizeof(hca_qpc), q);
    EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, qpn, sizeof(hca_qpc)), HCA_OK) << "it may be one";
  }
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  expect_alive(b, b.other);
}

TEST(damage, of_a_completion_queue) {
  std::set<int> statuses;
  for (std::uint64_t bit = 0; bit < 8 * sizeof(hca_cqc); bit++) {
    SCOPED_TRACE(bit);
    bench b;
    flip(b, b.areas().cqc_base + b.cqn * sizeof(hca_cqc), bit);
    statuses.insert(b.run(HCA_CMD_MODIFY_CQ, b.cqn, 7));
    statuses.insert(b.run(HCA_CMD_DESTROY_CQ, b.cqn));
    expect_alive(b, b.other);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(statuses.contains(HCA_DAMAGED));
}

TEST(damage, of_a_region_and_its_table) {
  std::set<int> statuses;
  for (std::uint64_t bit = 0; bit < 8 * (sizeof(hca_mrc) + 8 * sizeof(hca_pte)); bit++) {
    SCOPED_TRACE(bit);
    bench b;
    ASSERT_EQ(b.register_region(region(0x100000, 1100 * page), scattered(1100)), HCA_OK);
    const std::uint32_t key = b.command.result[0];
    const std::uint64_t at = b.areas().mrc_base + (key >> 8) * sizeof(hca_mrc);
    if (bit < 8 * sizeof(hca_mrc)) {
      flip(b, at, bit);
    } else {
      flip(b, b.h.get<hca_mrc>(at).table, bit - 8 * sizeof(hca_mrc));
    }
    statuses.insert(b.query(HCA_CMD_QUERY_MR, key, sizeof(hca_mrc)));
    statuses.insert(b.reregister(key, HCA_REREG_TRANSLATION, region(0x900000, 600 * page), scattered(600)));
    statuses.insert(b.deregister(key));
    expect_alive(b, b.other);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_TRUE(statuses.contains(HCA_DAMAGED));
}

TEST(damage, of_an_address_space_and_its_table) {
  const std::uint64_t va = 0x7f0000000000;
  for (std::uint64_t bit = 0; bit < 8 * (sizeof(hca_mrc) + 8 * sizeof(hca_pte)); bit++) {
    SCOPED_TRACE(bit);
    bench b;
    ASSERT_EQ(b.x_register(region(va, 3 * page), scattered(3)), HCA_OK);
    const std::uint32_t key = b.space.key;
    ASSERT_EQ(b.x_reregister(key, region(va + 700 * page, 2 * page), scattered(2)), HCA_OK);
    const std::uint64_t at = b.areas().mrc_base + (key >> 8) * sizeof(hca_mrc);
    if (bit < 8 * sizeof(hca_mrc)) {
      flip(b, at, bit);
    } else {
      flip(b, b.h.get<hca_mrc>(at).table, bit - 8 * sizeof(hca_mrc));
    }
    b.x_reregister(key, region(va + 5 * page, 2 * page), scattered(2));
    b.x_remove(key, 0, va, page);
    EXPECT_EQ(b.x_teardown(key), HCA_OK);
    expect_alive(b, b.other);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
