// SQD: begun work is completed, later work waits for RTS, and software learns when the send queue is drained (IBA 10.3.1;
// ib_modify_qp_is_ok).
#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/checks/conformance/window.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t long_message = 16384;

int to_sqd(cpu& c, ibv_qp* qp, std::optional<bool> notify = std::nullopt) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_SQD;
  a.en_sqd_async_notify = notify.value_or(false) ? 1 : 0;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE | (notify ? int{IBV_QP_EN_SQD_ASYNC_NOTIFY} : 0));
}

int back_to_rts(cpu& c, ibv_qp* qp) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE);
}

ibv_qp_attr queried(cpu& c, ibv_qp* qp) {
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(c, qp, &a, 0, &init), 0);
  return a;
}

TEST(conformance, what_is_posted_in_sqd_waits_for_rts) {
  run_case([](cpu& c, node& n) {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
      base_case t(c, n, {.type = type});
      ASSERT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
      ASSERT_EQ(to_sqd(c, t.a), 0);
      t.p.fill(t.here.addr, 64, 7);
      const auto before = t.p.bytes(t.there.addr, 64);
      for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_EQ(post(c, t.a, t.a_write(i)), 0);
      EXPECT_FALSE(next_completion(c, t.p.cq, 5_ms));
      EXPECT_EQ(t.p.bytes(t.there.addr, 64), before);
      EXPECT_EQ(queried(c, t.a).sq_draining, 0);
      ASSERT_EQ(back_to_rts(c, t.a), 0);
      for (std::uint64_t i = 1; i <= 20; ++i) {
        const auto wc = next_completion(c, t.p.cq, 10_ms);
        ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
        EXPECT_EQ(wc->wr_id, i);
      }
      EXPECT_EQ(queried(c, t.a).qp_state, IBV_QPS_RTS);
    }
  });
}

// The peer goes on while the QP is in SQD: its requests are served.
TEST(conformance, in_sqd_the_receive_side_goes_on) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n);
    ASSERT_EQ(to_sqd(c, t.b), 0);
    EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.read(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  });
}

// The receiver delays SQD: the SEND under way is not complete until there is a receive.
TEST(conformance, sqd_is_drained_when_what_was_begun_is_complete) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n);
    ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .id = 1, .sges = {{t.here.addr, 64, t.here.mr->lkey}}}), 0);
    ASSERT_FALSE(next_completion(c, t.p.cq, 100_us));
    ASSERT_EQ(to_sqd(c, t.a, true), 0);
    ASSERT_EQ(post(c, t.a, t.a_write(2)), 0);
    EXPECT_EQ(queried(c, t.a).sq_draining, 1);
    EXPECT_EQ(queried(c, t.a).qp_state, IBV_QPS_SQD);
    ASSERT_EQ(post_receive(c, t.b, 9, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, t.p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_SQ_DRAINED);
    EXPECT_EQ(e.element.qp, t.a);
    ibv_ack_async_event(&e);
    EXPECT_EQ(queried(c, t.a).sq_draining, 0);
    for (int i = 0; i < 2; ++i) {
      const auto wc = next_completion(c, t.p.cq, 1_ms);
      ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
      EXPECT_EQ(wc->wr_id, wc->qp_num == t.a->qp_num ? 1U : 9U);
    }
    EXPECT_FALSE(next_completion(c, t.p.cq, 1_ms)) << "the WRITE waits";
    ASSERT_EQ(back_to_rts(c, t.a), 0);
    EXPECT_EQ(next_completion(c, t.p.cq, 1_ms)->wr_id, 2U);
  });
}

// A long message is sent to its end; notify = false: there is no event.
TEST(conformance, the_drained_event_comes_to_who_asked_for_it) {
  run_case([](cpu& c, node& n) {
    for (const std::optional<bool> notify : {std::optional<bool>{}, std::optional{false}, std::optional{true}}) {
      base_case t(c, n);
      for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_EQ(post(c, t.a, t.a_write(i, long_message)), 0);
      ASSERT_EQ(to_sqd(c, t.a, notify), 0);
      std::uint64_t done = 0;
      while (const auto wc = next_completion(c, t.p.cq, 1_ms)) {
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc->wr_id, ++done);
      }
      EXPECT_EQ(queried(c, t.a).sq_draining, 0);
      ASSERT_EQ(back_to_rts(c, t.a), 0);
      while (done < 8) {
        const auto wc = next_completion(c, t.p.cq, 1_ms);
        ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
        EXPECT_EQ(wc->wr_id, ++done);
      }
      // The first of two events that were asked for is the first to come.
      ASSERT_EQ(to_sqd(c, t.b, true), 0);
      ibv_async_event e{};
      ASSERT_EQ(ibv_get_async_event(c, t.p.context, &e), 0);
      EXPECT_EQ(e.event_type, IBV_EVENT_SQ_DRAINED);
      EXPECT_EQ(e.element.qp, notify.value_or(false) ? t.a : t.b);
      ibv_ack_async_event(&e);
      if (!notify.value_or(false)) continue;
      ASSERT_EQ(ibv_get_async_event(c, t.p.context, &e), 0);
      EXPECT_EQ(e.element.qp, t.b);
      ibv_ack_async_event(&e);
    }
  });
}

// BIND and LOCAL_INV are requests like the others: they take effect in RTS.
TEST(conformance, a_window_is_not_bound_in_sqd) {
  run_case([](cpu& c, node& n) {
    window_case t(c, n);
    ibv_mw* w = t.window(IBV_MW_TYPE_2);
    const std::uint32_t key = ibv_inc_rkey(w->rkey);
    ASSERT_EQ(to_sqd(c, t.b), 0);
    ASSERT_EQ(post_bind(c, t.b, w, key, t.piece(0, 4096)), 0);
    EXPECT_FALSE(next_completion(c, t.p.cq, 1_ms));
    t.expect_no_write(t.there.addr, key);  // through RESET, which forgets the request
    ASSERT_EQ(to_sqd(c, t.b), 0);
    ASSERT_EQ(post_bind(c, t.b, w, key, t.piece(0, 4096)), 0);
    ASSERT_EQ(back_to_rts(c, t.b), 0);
    const auto wc = next_completion(c, t.p.cq, 1_ms);
    ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
    EXPECT_EQ(t.write(t.there.addr, key).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(c, w), 0);
  });
}

// In any way from SQD into error, waiting requests are flushed.
TEST(conformance, what_waits_in_sqd_is_flushed_by_an_error) {
  run_case([](cpu& c, node& n) {
    for (const int way : {0, 1, 2}) {
      base_case t(c, n);
      if (way == 0) {  // by itself: a WRITE under way is refused at last
        ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .id = 1, .sges = {{t.here.addr, 64, t.here.mr->lkey}}}), 0);
        ASSERT_FALSE(next_completion(c, t.p.cq, 100_us));
      }
      ASSERT_EQ(to_sqd(c, t.a), 0);
      for (std::uint64_t i = 10; i < 13; ++i) ASSERT_EQ(post(c, t.a, t.a_write(i)), 0);
      ASSERT_FALSE(next_completion(c, t.p.cq, 100_us));
      if (way == 0) {
        ASSERT_EQ(post_receive(c, t.b, 9, {{t.there.addr, 8, t.there.mr->lkey}}), 0);  // too short
      } else if (way == 1) {                                                           // a command
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(ibv_modify_qp(c, t.a, &a, IBV_QP_STATE), 0);
      } else {  // the peer
        ASSERT_EQ(post(c, t.b,
                       {.opcode = IBV_WR_RDMA_WRITE,
                        .id = 1,
                        .sges = {{t.here.addr, 64, t.here.mr->lkey}},
                        .remote = t.there.addr,
                        .rkey = 1}),
                  0);
      }
      std::vector<std::uint64_t> flushed;
      while (const auto wc = next_completion(c, t.p.cq, 1_ms)) {
        if (wc->status == IBV_WC_WR_FLUSH_ERR && wc->qp_num == t.a->qp_num) flushed.push_back(wc->wr_id);
      }
      EXPECT_EQ(flushed, (std::vector<std::uint64_t>{10, 11, 12})) << way;
      EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
      t.reconnect();
      EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS) << "a new life is not paused";
    }
  });
}

}  // namespace
}  // namespace hcasim::kit
