// Queue pairs: their creation, their states, the attributes of a change.
#include "firmware/abi/registers.h"
#include "firmware/control/queues/queue_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

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
  EXPECT_EQ(with([](hca_create_qp& p) { p.reserved1[3] = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(with([](hca_create_qp& p) { p.uar = HCA_UAR_COUNT; }), HCA_BAD_PARAMETER);
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

// The table of ib_modify_qp_is_ok, written down a second time. For each pair of states: the attributes that RC, UC, UD and the
// initiator and target of XRC need and may have.
struct wish {
  std::uint32_t need, may;
};
struct expectation {
  hca_qp_state from, to;
  wish rc, uc, ud, initiator, target;

  [[nodiscard]] wish of(std::uint8_t transport) const {
    switch (transport) {
      case HCA_TRANSPORT_RC:
        return rc;
      case HCA_TRANSPORT_UC:
        return uc;
      case HCA_TRANSPORT_UD:
        return ud;
      case HCA_TRANSPORT_XRC_INI:
        return initiator;
      default:
        return target;
    }
  }
};
constexpr std::uint32_t A = HCA_QP_ACCESS, Q = HCA_QP_QKEY, N = HCA_QP_MIN_RNR_TIMER, V = HCA_QP_AV, M = HCA_QP_PATH_MTU,
                        D = HCA_QP_DEST_QPN, R = HCA_QP_RQ_PSN, S = HCA_QP_SQ_PSN, I = HCA_QP_MAX_READ_IN,
                        O = HCA_QP_MAX_READ_OUT, T = HCA_QP_TIMEOUT, C = HCA_QP_RETRY_COUNT, W = HCA_QP_RNR_RETRY,
                        E = HCA_QP_SQD_NOTIFY;
constexpr expectation expectations[] = {
    {HCA_QP_RESET, HCA_QP_INIT, {A, 0}, {A, 0}, {Q, 0}, {A, 0}, {A, 0}},
    {HCA_QP_INIT, HCA_QP_INIT, {0, A}, {0, A}, {0, Q}, {0, A}, {0, A}},
    {HCA_QP_INIT,
     HCA_QP_RTR,
     {V | M | D | R | I | N, A},
     {V | M | D | R, A},
     {0, Q},
     {V | M | D | R, A},
     {V | M | D | R | I | N, A}},
    {HCA_QP_RTR, HCA_QP_RTS, {T | C | W | S | O, A | N}, {S, A}, {S, Q}, {T | C | W | S | O, A}, {T | S, A | N}},
    {HCA_QP_RTS, HCA_QP_RTS, {0, A | N}, {0, A}, {0, Q}, {0, A}, {0, A | N}},
    {HCA_QP_RTS, HCA_QP_SQD, {0, E}, {0, E}, {0, E}, {0, E}, {0, E}},
    {HCA_QP_SQD, HCA_QP_RTS, {0, A | N}, {0, A}, {0, Q}, {0, A}, {0, A | N}},
    {HCA_QP_SQD,
     HCA_QP_SQD,
     {0, V | T | C | W | O | I | A | N},
     {0, V | A},
     {0, Q},
     {0, V | T | C | W | O | A},
     {0, V | T | I | A | N}},
    {HCA_QP_SQE, HCA_QP_RTS, {0, 0}, {0, A}, {0, Q}, {0, 0}, {0, 0}},
};

// Every transport, every pair of states, every set of attributes.
TEST(queue_pair_states, exhaustively) {
  const std::uint32_t bits[] = {A, Q, N, V, M, D, R, S, I, O, T, C, W, E};
  for (const std::uint8_t transport :
       {HCA_TRANSPORT_RC, HCA_TRANSPORT_UC, HCA_TRANSPORT_UD, HCA_TRANSPORT_XRC_INI, HCA_TRANSPORT_XRC_TGT}) {
    for (int from = 0; from <= 7; from++) {
      for (int to = 0; to <= 7; to++) {
        for (std::uint32_t set = 0; set < 1U << 14; set++) {
          std::uint32_t mask = 0;
          for (unsigned i = 0; i < 14; i++) mask |= (set >> i & 1) != 0 ? bits[i] : 0;
          int expected = HCA_BAD_STATE;
          if (from > 6 || to > 6) {
            expected = HCA_BAD_PARAMETER;
          } else if (to == HCA_QP_RESET || (to == HCA_QP_ERR && from != HCA_QP_RESET)) {
            expected = mask == 0 ? HCA_OK : HCA_BAD_PARAMETER;
          }
          for (const expectation& e : expectations) {
            if (e.from != from || e.to != to) continue;
            const auto [need, may] = e.of(transport);
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
  constexpr std::uint64_t start = 0;
  const auto controls = [&] {
    std::vector<std::uint64_t> ops;
    for (const hal::call& c : b.h.log) {
      if (c.what == hal::op::qp) ops.push_back(c.b);
      if (c.what == hal::op::start) ops.push_back(start);
    }
    b.h.log.clear();
    return ops;
  };
  using ops = std::vector<std::uint64_t>;
  EXPECT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_BAD_STATE);
  EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE), HCA_BAD_PARAMETER);
  EXPECT_EQ(controls(), ops{});
  ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
  EXPECT_EQ(controls(), ops{start});
  EXPECT_EQ(b.h.pages_of_bells.at(qpn), b.qpc(qpn).uar);
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
  ASSERT_EQ(modify(qpn, HCA_QP_SQD, HCA_QP_MIN_RNR_TIMER), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(controls(), (ops{HAL_QP_DRAIN, HAL_QP_GO_ON}));
  for (const std::uint32_t notify : {0U, 1U}) {
    hca_modify_qp a = attributes(HCA_QP_SQD);
    a.sqd_notify = static_cast<std::uint8_t>(notify);
    ASSERT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_SQD_NOTIFY, a), HCA_OK);
    EXPECT_EQ(controls(), ops{notify != 0 ? HAL_QP_DRAIN_NOTIFY : HAL_QP_DRAIN});
    ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE), HCA_OK);
    EXPECT_EQ(controls(), ops{HAL_QP_GO_ON});
  }
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
  EXPECT_EQ(modify(qpn, HCA_QP_ERR, HCA_QP_STATE), HCA_BAD_STATE);
  EXPECT_EQ(b.qpc(qpn).state, HCA_QP_RESET);
  EXPECT_EQ(controls(), ops{});
  ASSERT_EQ(modify(qpn, HCA_QP_RESET, HCA_QP_STATE), HCA_OK);
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
  EXPECT_EQ(value(HCA_QP_SQD_NOTIFY, [](hca_modify_qp& a) { a.sqd_notify = 2; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(HCA_QP_PORT, [](hca_modify_qp& a) { a.port = 1; }), HCA_BAD_PARAMETER) << "there is one port";
  EXPECT_EQ(value(0, [](hca_modify_qp& a) { a.reserved[1] = 1; }), HCA_BAD_PARAMETER);
  EXPECT_EQ(value(~0U, [](hca_modify_qp&) {}), HCA_OK);
}

// The responder gives the context back, changed, while the firmware takes it.
TEST_F(queues, a_change_survives_a_late_write_back) {
  const std::uint32_t qpn = b.create_qp(cqn);
  ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_RTR, rtr_mask), HCA_OK);
  hca_qpc held = b.qpc(qpn);
  held.expected_psn += 5;
  b.h.observer = [&](const hal::call& c) {
    if (c == hal::call{hal::op::take, qpn}) b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
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
  b.h.observer = [&](const hal::call& c) {
    if (c == hal::call{hal::op::take, qpn}) b.h.put(b.areas().qpc_base + qpn * 256ULL, held);
  };
  EXPECT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE | HCA_QP_MIN_RNR_TIMER | HCA_QP_ACCESS), HCA_BAD_STATE);
  EXPECT_EQ(b.qpc(qpn).state, HCA_QP_ERR);
}

// The firmware has the context alone whenever it writes. Otherwise a data-path unit could see a part of the change, or write
// its own copy back over the change.
TEST_F(queues, contexts_are_written_by_their_holder) {
  const std::uint32_t qpn = ready_qp();
  ASSERT_EQ(modify(qpn, HCA_QP_SQD, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_BAD_STATE);
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, HCA_QP_STATE), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_ERR, HCA_QP_STATE), HCA_OK);
  ASSERT_EQ(modify(qpn, HCA_QP_RESET, HCA_QP_STATE), HCA_OK);
  ASSERT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(b.h.untaken, 0U);
  EXPECT_FALSE(b.h.any_taken()) << "given back";
  // Wherever a command fails.
  for (std::int64_t n = 0; n < 60; n++) {
    b.h.fail_at = b.h.dma_calls + n;
    const std::uint32_t failing = b.create_qp(cqn);
    if (failing != ~0U) {
      modify(failing, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS);
      modify(failing, HCA_QP_RTR, rtr_mask);
      modify(failing, HCA_QP_RESET, HCA_QP_STATE);
      b.run(HCA_CMD_DESTROY_QP, failing);
    }
    b.h.fail_at = -1;
    if (failing != ~0U) b.run(HCA_CMD_DESTROY_QP, failing);
    ASSERT_FALSE(b.h.any_taken()) << n;
  }
  EXPECT_EQ(b.h.untaken, 0U);
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

}  // namespace
