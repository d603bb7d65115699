#include <gtest/gtest.h>

#include "firmware/abi/registers.h"
#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

constexpr std::uint32_t rtr_mask =
    HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_IN | HCA_QP_MIN_RNR_TIMER;
constexpr std::uint32_t rts_mask =
    HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN | HCA_QP_MAX_READ_OUT;

hca_modify_qp attributes(hca_qp_state state) {
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

TEST_F(queues, event_queue) {
  EXPECT_EQ(b.h.eqs.at(0).buffer.log_bytes, 12);
  const auto with = [&](auto change) {
    hca_eqc e{};
    e.buffer.log_bytes = 12;
    change(e);
    return b.run(HCA_CMD_CREATE_EQ, 0, 0, e);
  };
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.page_shift = 12; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.pages = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.log_bytes = 5; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.buffer.log_bytes = 23; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.vector = HCA_MSIX_VECTORS; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_eqc& e) { e.reserved[1] = 1; }), HCA_BAD_PARAMETER);
  for (std::uint32_t i = 1; i < 4; i++) EXPECT_EQ(b.create_eq(), i);
  EXPECT_EQ(b.create_eq(), ~0U);
  EXPECT_EQ(b.command.status, HCA_NO_RESOURCES);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 0), HCA_BUSY);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 2), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 2), HCA_BAD_OBJECT);
  EXPECT_EQ(b.h.eqs.count(2), 0U);
  EXPECT_EQ(b.create_eq(), 2U);
}

TEST_F(queues, completion_queue) {
  const hca_cqc q = b.cqc(cqn);
  EXPECT_EQ(q.state, HCA_CQ_VALID);
  EXPECT_EQ(q.arm, HCA_ARM_NONE);
  EXPECT_EQ(q.eqn, 0);
  EXPECT_EQ(q.buffer.log_bytes, 13);
  EXPECT_EQ(q.buffer.page_shift, 12);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages), 0x7000U | HCA_PTE_PRESENT);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages + 8), 0x5000U | HCA_PTE_PRESENT);
  EXPECT_EQ(b.h.get<hca_pte>(q.buffer.pages + 16), 0U);
  ASSERT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn, 16 | 20 << 16), HCA_OK);
  EXPECT_EQ(b.cqc(cqn).moderation_count, 16);
  EXPECT_EQ(b.cqc(cqn).moderation_us, 20);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn + 1, 0), HCA_BAD_OBJECT);

  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0x1000}) {
    hca_create_cq p{};
    p.log_entries = 6;
    p.page_shift = 12;
    change(p);
    p.pages = static_cast<std::uint32_t>(pages.size());
    return b.run(HCA_CMD_CREATE_CQ, 0, 0, p, pages);
  };
  EXPECT_EQ(with([](hca_create_cq& p) { p.log_entries = 23; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.log_entries = 7; }), HCA_BAD_PARAMETER) << "needs two pages";
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 13; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.record = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.reserved0 = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.eqn = 1; }), HCA_BAD_OBJECT);
  EXPECT_EQ(with([](hca_create_cq&) {}, {0x1008}), HCA_BAD_PARAMETER) << "not a page";
  EXPECT_EQ(with([](hca_create_cq&) {}, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_cq& p) { p.page_shift = 0; }, {0x1040}), HCA_OK);
  EXPECT_EQ(b.cqc(b.command.result[0]).buffer.pages, 0x1040U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, b.command.result[0]), HCA_OK);
  EXPECT_EQ(b.usage().cqs, 1U);

  b.h.logging = true;
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_OK);
  EXPECT_EQ(b.h.log.back(), (hal::call{hal::op::translation_drop, HCA_TAG_CQ | cqn, 0, ~0ULL}));
  EXPECT_EQ(b.cqc(cqn).state, HCA_CQ_INVALID);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_EQ, 0), HCA_OK);
}

// A unit that held the CQ context puts it back over the new moderation: written again.
TEST_F(queues, moderation_survives_a_late_write_back) {
  const hca_cqc stale = b.cqc(cqn);
  int drops = 0;
  b.h.observer = [&](const hal::call& c) {
    if (c.what != hal::op::drop || c.a != HAL_CACHE_CQC) return;
    hca_cqc held = stale;
    held.pi = 77;
    if (++drops == 2) b.h.put(b.areas().cqc_base + cqn * 64ULL, held);
  };
  ASSERT_EQ(b.run(HCA_CMD_MODIFY_CQ, cqn, 9), HCA_OK);
  EXPECT_EQ(b.cqc(cqn).moderation_count, 9);
  EXPECT_EQ(b.cqc(cqn).pi, 77U);
}

TEST_F(queues, create_queue_pair) {
  const std::uint32_t qpn = b.create_qp(cqn);
  EXPECT_GE(qpn, 2U);
  const hca_qpc q = b.qpc(qpn);
  EXPECT_EQ(q.state, HCA_QP_RESET);
  EXPECT_EQ(q.transport, HCA_TRANSPORT_RC);
  EXPECT_EQ(q.pd, 5U);
  EXPECT_EQ(q.send_cqn, cqn);
  EXPECT_EQ(q.recv_cqn, cqn);
  EXPECT_EQ(q.function, 3);
  EXPECT_EQ(q.record, 0x9000U);
  EXPECT_EQ(q.generation, 1U);
  EXPECT_EQ(q.inbound, HCA_INBOUND_NONE);
  EXPECT_EQ(q.sq.log_bytes, 14);
  EXPECT_EQ(q.rq.log_bytes, 12);
  EXPECT_EQ(q.rq_stride_shift, 6);
  const std::uint64_t sq[] = {0x10000, 0x30000, 0x20000, 0x50000};
  for (unsigned i = 0; i < 4; i++) EXPECT_EQ(b.h.get<hca_pte>(q.sq.pages + i * 8), sq[i] | HCA_PTE_PRESENT);
  EXPECT_EQ(b.h.get<hca_pte>(q.rq.pages), 0x40000U | HCA_PTE_PRESENT);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_BUSY);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, qpn, 256), HCA_OK);
  EXPECT_EQ(b.h.get<hca_qpc>(b.out).pd, 5U);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, qpn + 1, 256), HCA_BAD_OBJECT);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, 0, 256), HCA_BAD_OBJECT);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, 1, 256), HCA_BAD_OBJECT);

  b.h.logging = true;
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  const auto at = [&](const hal::call& c) { return std::find(b.h.log.begin(), b.h.log.end(), c) - b.h.log.begin(); };
  const std::uint64_t entry = b.areas().qpc_base + qpn * sizeof(hca_qpc);
  EXPECT_LT(at({hal::op::qp, qpn, HAL_QP_STOP}), at({hal::op::write, entry, sizeof(hca_qpc)})) << "stopped before it goes";
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().table_bytes, 64U) << "only the CQ's list is left";
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_OK);
}

TEST_F(queues, queue_pair_numbers) {
  std::uint32_t previous = 0;
  for (int i = 0; i < 200; i++) {
    const std::uint32_t qpn = b.create_qp(cqn);
    EXPECT_GE(qpn, 2U);
    EXPECT_LT(qpn, 64U);
    EXPECT_NE(qpn, previous) << "not at once";
    EXPECT_EQ(b.qpc(qpn).generation, 1U + static_cast<std::uint32_t>(i) / 62) << "a new life";
    ASSERT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
    previous = qpn;
  }
  for (int i = 0; i < 62; i++) ASSERT_NE(b.create_qp(cqn), ~0U);
  EXPECT_EQ(b.create_qp(cqn), ~0U);
  EXPECT_EQ(b.command.status, HCA_NO_RESOURCES);
}

TEST_F(queues, create_queue_pair_refusals) {
  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0x10000, 0x30000, 0x20000, 0x50000, 0x40000}) {
    hca_create_qp p = firmware_bench::qp_parameters(cqn);
    change(p);
    const int status = b.run(HCA_CMD_CREATE_QP, 0, 0, p, pages);
    if (status != HCA_OK) {
      EXPECT_EQ(b.usage().qps, 0U);
      EXPECT_EQ(b.usage().table_bytes, 64U);
    }
    return status;
  };
  EXPECT_EQ(with([](hca_create_qp& p) { p.transport = 2; }), HCA_UNSUPPORTED);
  EXPECT_EQ(with([](hca_create_qp& p) { p.srqn = 1; }), HCA_BAD_PARAMETER) << "and a receive queue";
  EXPECT_EQ(with([](hca_create_qp& p) { p.pd = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.signal_all = 2; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.record = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.flags = 2; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.reserved1[5] = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.send_cqn = 9; }), HCA_BAD_OBJECT);
  EXPECT_EQ(with([](hca_create_qp& p) { p.recv_cqn = 0; }), HCA_BAD_OBJECT);
  EXPECT_EQ(with([](hca_create_qp& p) { p.log_sq_bytes = 13; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.log_sq_bytes = 5; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.log_sq_bytes = 22; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.rq_stride_shift = 3; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.rq_stride_shift = 11; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.log_rq_bytes = 5; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.page_shift = 14; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.sq_pages = 3; }), HCA_BAD_LENGTH);
  EXPECT_EQ(with([](hca_create_qp& p) { p.sq_pages = ~0U; }), HCA_BAD_LENGTH);
  EXPECT_EQ(with([](hca_create_qp&) {}, {0x10000, 0x30000, 0x20000, 0x50000, 0x40040}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with(
                [](hca_create_qp& p) {
                  p.rq_pages = 0;
                  p.log_rq_bytes = 0;
                },
                {0x1000, 0x2000, 0x3000, 0x4000}),
            HCA_OK);
  EXPECT_EQ(b.qpc(b.command.result[0]).rq.pages, 0U);
}

// The table of ib_modify_qp_is_ok, written down a second time: for each pair of states, what RC, UC and UD need and may have.
struct expectation {
  hca_qp_state from, to;
  std::uint32_t rc, rc_optional, uc, uc_optional, ud, ud_optional;
};
constexpr std::uint32_t A = HCA_QP_ACCESS, Q = HCA_QP_QKEY, N = HCA_QP_MIN_RNR_TIMER, V = HCA_QP_AV, M = HCA_QP_PATH_MTU,
                        D = HCA_QP_DEST_QPN, R = HCA_QP_RQ_PSN, S = HCA_QP_SQ_PSN, I = HCA_QP_MAX_READ_IN,
                        O = HCA_QP_MAX_READ_OUT, T = HCA_QP_TIMEOUT, C = HCA_QP_RETRY_COUNT, W = HCA_QP_RNR_RETRY;
constexpr expectation expectations[] = {
    {HCA_QP_RESET, HCA_QP_INIT, A, 0, A, 0, Q, 0},
    {HCA_QP_INIT, HCA_QP_INIT, 0, A, 0, A, 0, Q},
    {HCA_QP_INIT, HCA_QP_RTR, V | M | D | R | I | N, A, V | M | D | R, A, 0, Q},
    {HCA_QP_RTR, HCA_QP_RTS, T | C | W | S | O, A | N, S, A, S, Q},
    {HCA_QP_RTS, HCA_QP_RTS, 0, A | N, 0, A, 0, Q},
    {HCA_QP_RTS, HCA_QP_SQD, 0, 0, 0, 0, 0, 0},
    {HCA_QP_SQD, HCA_QP_RTS, 0, A | N, 0, A, 0, Q},
    {HCA_QP_SQD, HCA_QP_SQD, 0, V | T | C | W | O | I | A | N, 0, V | A, 0, Q},
    {HCA_QP_SQE, HCA_QP_RTS, 0, 0, 0, A, 0, Q},
};

// Every transport, every pair of states, every set of attributes.
TEST(queue_pair_states, exhaustively) {
  const std::uint32_t bits[] = {A, Q, N, V, M, D, R, S, I, O, T, C, W};
  for (const std::uint8_t transport : {HCA_TRANSPORT_RC, HCA_TRANSPORT_UC, HCA_TRANSPORT_UD}) {
    for (int from = 0; from <= 7; from++) {
      for (int to = 0; to <= 7; to++) {
        for (std::uint32_t set = 0; set < 1U << 13; set++) {
          std::uint32_t mask = 0;
          for (unsigned i = 0; i < 13; i++) mask |= (set >> i & 1) != 0 ? bits[i] : 0;
          int expected = HCA_BAD_STATE;
          if (from > 6 || to > 6) {
            expected = HCA_BAD_PARAMETER;
          } else if (to == HCA_QP_RESET || to == HCA_QP_ERR) {
            expected = mask == 0 ? HCA_OK : HCA_BAD_PARAMETER;
          }
          for (const expectation& e : expectations) {
            if (e.from != from || e.to != to) continue;
            const std::uint32_t need = transport == HCA_TRANSPORT_RC ? e.rc : transport == HCA_TRANSPORT_UC ? e.uc : e.ud;
            const std::uint32_t may = transport == HCA_TRANSPORT_RC   ? e.rc_optional
                                      : transport == HCA_TRANSPORT_UC ? e.uc_optional
                                                                      : e.ud_optional;
            expected = (mask & need) == need && (mask & ~(need | may)) == 0 ? HCA_OK : HCA_BAD_PARAMETER;
          }
          ASSERT_EQ(
              fw_qp_transition(transport, static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to), mask | HCA_QP_STATE),
              expected)
              << int{transport} << ' ' << from << "->" << to << ' ' << std::hex << mask;
        }
      }
    }
  }
}

TEST_F(queues, a_life) {
  const std::uint32_t qpn = b.create_qp(cqn);
  b.h.logging = true;
  const auto controls = [&] {
    std::vector<std::uint64_t> ops;
    for (const hal::call& c : b.h.log) {
      if (c.what == hal::op::qp) ops.push_back(c.b);
    }
    b.h.log.clear();
    return ops;
  };
  using ops = std::vector<std::uint64_t>;
  EXPECT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_BAD_STATE);
  EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE), HCA_BAD_PARAMETER);
  EXPECT_EQ(controls(), ops{});
  ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
  EXPECT_EQ(controls(), ops{HAL_QP_START});
  EXPECT_EQ(b.qpc(qpn).access, HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ);
  ASSERT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_OK);
  hca_qpc q = b.qpc(qpn);
  EXPECT_EQ(q.state, HCA_QP_RTR);
  EXPECT_EQ(q.mtu_shift, 12);
  EXPECT_EQ(q.dest_lid, 0x21);
  EXPECT_EQ(q.service_level, 3);
  EXPECT_EQ(q.dest_qpn, 0x1234U);
  EXPECT_EQ(q.expected_psn, 0x123456U);
  EXPECT_EQ(q.max_read_in, 15);
  EXPECT_EQ(q.min_rnr_timer, 12);
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, rts_mask), HCA_OK);
  q = b.qpc(qpn);
  EXPECT_EQ(q.state, HCA_QP_RTS);
  EXPECT_EQ(q.timeout, 14);
  EXPECT_EQ(q.retry_count, 7);
  EXPECT_EQ(q.rnr_retry, 6);
  EXPECT_EQ(q.next_psn, 0xabcdefU);
  EXPECT_EQ(q.una_psn, 0xabcdefU);
  EXPECT_EQ(q.max_read_out, 16);
  EXPECT_EQ(controls(), ops{});
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_MIN_RNR_TIMER), HCA_OK) << "no state: it stays";
  ASSERT_EQ(modify(qpn, HCA_QP_SQD, HCA_QP_STATE), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_BAD_STATE);
  ASSERT_EQ(modify(qpn, HCA_QP_ERR, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).state, HCA_QP_ERR);
  EXPECT_EQ(controls(), ops{HAL_QP_FLUSH});
  EXPECT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE), HCA_BAD_STATE);
  const hca_buffer sq = b.qpc(qpn).sq;
  ASSERT_EQ(modify(qpn, HCA_QP_RESET, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(controls(), ops{HAL_QP_STOP});
  q = b.qpc(qpn);
  EXPECT_EQ(q.state, HCA_QP_RESET);
  EXPECT_EQ(q.generation, 1U) << "the same QP";
  EXPECT_EQ(q.next_psn, 0U);
  EXPECT_EQ(q.dest_qpn, 0U);
  EXPECT_EQ(q.inbound, HCA_INBOUND_NONE);
  EXPECT_EQ(q.record, 0x9000U);
  EXPECT_EQ(std::memcmp(&q.sq, &sq, sizeof sq), 0);
  ASSERT_EQ(modify(qpn, HCA_QP_ERR, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(controls(), (ops{HAL_QP_START, HAL_QP_FLUSH}));
}

TEST_F(queues, attribute_values) {
  const std::uint32_t qpn = ready_qp();
  const auto with = [&](std::uint32_t mask, auto change) {
    hca_modify_qp a = attributes(HCA_QP_RTS);
    change(a);
    return b.run(HCA_CMD_MODIFY_QP, qpn, mask, a);
  };
  fw_limits l = small_limits();
  const auto value = [&](std::uint32_t mask, auto change) {
    hca_modify_qp a = attributes(HCA_QP_RTS);
    change(a);
    return fw_qp_values(&l, mask, &a);
  };
  EXPECT_EQ(with(HCA_QP_ACCESS, [](hca_modify_qp& a) { a.access = 16; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with(HCA_QP_STATE, [](hca_modify_qp& a) { a.state = 7; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with(HCA_QP_STATE, [](hca_modify_qp& a) { a.reserved = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with(1U << 1, [](hca_modify_qp&) {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with(HCA_QP_ACCESS, [](hca_modify_qp& a) { a.retry_count = 9; }), HCA_OK) << "not selected, not looked at";
  EXPECT_EQ(value(HCA_QP_AV, [](hca_modify_qp& a) { a.service_level = 16; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_PATH_MTU, [](hca_modify_qp& a) { a.mtu_shift = 7; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_PATH_MTU, [](hca_modify_qp& a) { a.mtu_shift = 13; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_TIMEOUT, [](hca_modify_qp& a) { a.timeout = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_RETRY_COUNT, [](hca_modify_qp& a) { a.retry_count = 8; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_RNR_RETRY, [](hca_modify_qp& a) { a.rnr_retry = 8; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_RQ_PSN, [](hca_modify_qp& a) { a.rq_psn = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_SQ_PSN, [](hca_modify_qp& a) { a.sq_psn = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_MAX_READ_OUT, [](hca_modify_qp& a) { a.max_read_out = 17; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_MAX_READ_IN, [](hca_modify_qp& a) { a.max_read_in = 17; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_MIN_RNR_TIMER, [](hca_modify_qp& a) { a.min_rnr_timer = 32; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_DEST_QPN, [](hca_modify_qp& a) { a.dest_qpn = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(~0U, [](hca_modify_qp&) {}), HCA_OK);
}

// The responder fetches the context between our read and our write and gives it back, changed, after our write.
TEST_F(queues, a_change_survives_a_late_write_back) {
  const std::uint32_t qpn = b.create_qp(cqn);
  ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_OK);
  hca_qpc held = b.qpc(qpn);
  held.expected_psn += 5;
  int drops = 0;
  b.h.observer = [&](const hal::call& c) {
    if (c.what == hal::op::drop && c.a == HAL_CACHE_QPC && ++drops == 2) b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
  };
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, rts_mask), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).state, HCA_QP_RTS);
  EXPECT_EQ(b.qpc(qpn).expected_psn, 0x123456U + 5) << "what the responder knew is kept";
  EXPECT_EQ(b.qpc(qpn).next_psn, 0xabcdefU);
}

TEST_F(queues, the_data_path_puts_the_qp_into_error_meanwhile) {
  const std::uint32_t qpn = ready_qp();
  hca_qpc held = b.qpc(qpn);
  held.state = HCA_QP_ERR;
  int drops = 0;
  b.h.observer = [&](const hal::call& c) {
    if (c.what == hal::op::drop && c.a == HAL_CACHE_QPC && ++drops == 2) b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
  };
  EXPECT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE | HCA_QP_MIN_RNR_TIMER | HCA_QP_ACCESS), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).state, HCA_QP_ERR);
}

TEST_F(queues, only_changed_words_are_written) {
  const std::uint32_t qpn = ready_qp();
  b.h.logging = true;
  ASSERT_EQ(modify(qpn, HCA_QP_SQD, HCA_QP_STATE), HCA_OK);
  for (const hal::call& c : b.h.log) {
    if (c.what == hal::op::write) {
      EXPECT_EQ(c, (hal::call{hal::op::write, b.areas().qpc_base + qpn * 256ULL, 4}));
    }
  }
}

TEST_F(queues, unreliable_transports_change_state_too) {
  for (const std::uint8_t transport : {HCA_TRANSPORT_UC, HCA_TRANSPORT_UD}) {
    const std::uint32_t qpn = b.create_qp(cqn, transport);
    const bool ud = transport == HCA_TRANSPORT_UD;
    ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | (ud ? HCA_QP_QKEY : HCA_QP_ACCESS)), HCA_OK);
    ASSERT_EQ(modify(qpn, HCA_QP_RTR, HCA_QP_STATE | (ud ? 0U : V | M | D | R)), HCA_OK);
    ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE | HCA_QP_SQ_PSN), HCA_OK);
    EXPECT_EQ(b.qpc(qpn).state, HCA_QP_RTS);
    EXPECT_EQ(b.qpc(qpn).mtu_shift, 12);
    ASSERT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  }
}

hca_create_srq srq_parameters() {
  hca_create_srq p{};
  p.log_bytes = 12;
  p.stride_shift = 5;
  p.page_shift = 12;
  p.pd = 3;
  p.pages = 1;
  p.record = 0x900;
  return p;
}

TEST_F(queues, create_shared_queue) {
  ASSERT_EQ(b.run(HCA_CMD_CREATE_SRQ, 0, 0, srq_parameters(), std::vector<std::uint64_t>{0x7000}), HCA_OK);
  const std::uint32_t srqn = b.command.result[0];
  const hca_qpc q = b.qpc(srqn);
  EXPECT_EQ(q.transport, HCA_TRANSPORT_SRQ);
  EXPECT_EQ(q.pd, 3U);
  EXPECT_EQ(q.rq.log_bytes, 12);
  EXPECT_EQ(q.in_wqe, 0);
  // It is no QP.
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, srqn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_SRQ, srqn, 5), HCA_OK);
  EXPECT_EQ(b.qpc(srqn).srq_limit, 5U);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_SRQ, srqn, 128), HCA_BAD_PARAMETER) << "it has 128 slots, one of them free";

  hca_create_qp with = firmware_bench::qp_parameters(cqn);
  with.srqn = srqn;
  with.rq_pages = with.log_rq_bytes = 0;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, with, std::vector<std::uint64_t>(with.sq_pages, 0x10000)), HCA_OK);
  const std::uint32_t qpn = b.command.result[0];
  EXPECT_EQ(b.qpc(qpn).srqn, srqn);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, qpn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_BUSY);

  // The receive that it has taken is told of when it goes.
  hca_qpc held = b.qpc(qpn);
  held.in_wqe = 9;
  held.in_wqe_held = 1;
  b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(b.command.result[0], 10U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_QUERY_SRQ, srqn), HCA_BAD_LENGTH);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_BAD_OBJECT);
  EXPECT_EQ(b.usage().qps, 0U);
}

TEST_F(queues, create_shared_queue_refusals) {
  const auto with = [&](auto change, std::vector<std::uint64_t> pages = {0x7000}) {
    hca_create_srq p = srq_parameters();
    change(p);
    const std::uint64_t before = b.usage().table_bytes;
    const int status = b.run(HCA_CMD_CREATE_SRQ, 0, 0, p, pages);
    EXPECT_EQ(b.usage().qps, 0U);
    EXPECT_EQ(b.usage().table_bytes, before);
    return status;
  };
  EXPECT_EQ(with([](hca_create_srq& p) { p.stride_shift = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.stride_shift = 11; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 21; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pd = 1 << 24; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.record = 4; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.reserved1 = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pages = 2; }), HCA_BAD_LENGTH);
  EXPECT_EQ(with([](hca_create_srq& p) { p.pages = 0; }, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_srq& p) { p.log_bytes = 14; }), HCA_BAD_PARAMETER) << "needs four pages";
}

}  // namespace
