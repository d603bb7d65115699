// Every cell of the requester's table of reactions against a whole adapter. One response of each kind, at each place of its
// PSN, to QPs in each state.
#include <gtest/gtest.h>

#include "models/adapter/requester/response_rules.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/packet_injector.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t psn0 = 0xfffffe;  // they wrap
// The outstanding requests: a WRITE of two packets, a READ of three, a WRITE, a READ, all sent and nothing answered.
constexpr std::uint32_t write_last = psn0 + 1, read_due = psn0 + 2, read_next = psn0 + 3, write_behind = psn0 + 5,
                        read_behind = psn0 + 6, not_sent = psn0 + 7;

struct wanted {
  response_place place;
  std::uint32_t psn;
};
constexpr wanted places[] = {{response_place::behind, psn0 - 1},
                             {response_place::behind, psn0 - 0x1000},
                             {response_place::message, write_last},
                             {response_place::due, read_due},
                             {response_place::past, read_next},
                             {response_place::past, read_behind},
                             {response_place::past_message, write_behind},
                             {response_place::unsent, not_sent},
                             {response_place::unsent, psn0 + 0x1000}};

packet_header response(const packet_injector& f, std::uint32_t qpn, response_class what, std::uint32_t psn) {
  packet_header h =
      f.header(what == response_class::data ? wire::read_first : wire::acknowledge, qpn, psn, lone_requester::peer_lid);
  h.syndrome = what == response_class::rnr_nak        ? wire::rnr_nak | 1
               : what == response_class::sequence_nak ? wire::nak_sequence
               : what == response_class::fatal_nak    ? wire::nak_remote_access
                                                      : wire::ack_no_credits;
  return h;
}
constexpr response_class kinds[] = {response_class::acknowledge, response_class::rnr_nak, response_class::sequence_nak,
                                    response_class::fatal_nak, response_class::data};

struct requests : lone_requester {
  requests(cpu& thread, node& on, packet_injector& f) : lone_requester(thread, on, f, psn0, true) {}
  void ask_all() {
    connect();
    completions();
    asked = 0;
    ASSERT_EQ(ask(IBV_WR_RDMA_WRITE, 2 * mtu), 0);
    ASSERT_EQ(ask(IBV_WR_RDMA_READ, 3 * mtu), 0);
    ASSERT_EQ(ask(IBV_WR_RDMA_WRITE, mtu), 0);
    ASSERT_EQ(ask(IBV_WR_RDMA_READ, mtu), 0);
    ASSERT_EQ(requests_after(60_us).size(), 5U);
  }
  void put(const packet_header& h) { answer(h, h.shape().payload ? mtu : 0, 60_us); }
};

void check(requests& r, response_class what, const wanted& w, bool from_peer) {
  r.ask_all();
  const response_action action = reaction_to({.waits = true, .from_peer = from_peer, .what = what, .place = w.place});
  SCOPED_TRACE(::testing::Message() << response_action_names[static_cast<std::size_t>(action)] << ": kind "
                                    << static_cast<int>(what) << " at " << static_cast<int>(w.psn - psn0)
                                    << (from_peer ? "" : ", foreign"));
  packet_header h = response(r.wire, r.qp->qp_num, what, w.psn);
  if (!from_peer) h.source_lid = 3;
  const double placed = statistic_of(r.n.hca.requester, "payload_received");
  const double discarded = statistic_of(r.n.hca.requester, "discarded");
  r.put(h);
  const auto again = r.wire.requests();
  const auto done = r.completions();
  const bool at_read = w.place == response_place::due;
  EXPECT_EQ(statistic_of(r.n.hca.requester, "payload_received") - placed, action == response_action::place ? r.mtu : 0);
  if (action == response_action::discard) {
    EXPECT_EQ(statistic_of(r.n.hca.requester, "discarded"), discarded + 1);
    EXPECT_TRUE(again.empty());
    EXPECT_TRUE(done.empty());
    EXPECT_EQ(r.p.state(r.qp), IBV_QPS_RTS);
    return;
  }
  if (action == response_action::fail) {
    ASSERT_EQ(done.size(), 4U);
    EXPECT_EQ(done[0].status, at_read ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(done[1].status, at_read ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(done[2].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(again.empty());
    EXPECT_EQ(r.p.state(r.qp), IBV_QPS_ERR);
    return;
  }
  EXPECT_EQ(r.p.state(r.qp), IBV_QPS_RTS);
  // The WRITE in front is complete, unless a NAK names its last packet.
  const bool complete = action == response_action::complete || action == response_action::place ||
                        action == response_action::ask_again || at_read;
  ASSERT_EQ(done.size(), complete ? 1U : 0U);
  for (const ibv_wc& wc : done) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  if (action == response_action::complete || action == response_action::place) {
    EXPECT_TRUE(again.empty());
    return;
  }
  const std::uint32_t from = action == response_action::ask_again ? read_due : w.psn;
  ASSERT_EQ(again.size(), from == write_last ? 4U : 3U);
  EXPECT_EQ(again[0].psn, from & wire::psn_mask);
}

void run_requests(const std::function<void(requests&)>& body) {
  EXPECT_EQ(run_forged(world::two_nodes(),
                       [&](cpu& c, node& n, packet_injector& f) {
                         requests r(c, n, f);
                         body(r);
                       }),
            "");
}

TEST(reactions, every_response_gets_its_reaction) {
  run_requests([](requests& r) {
    for (const bool from_peer : {true, false}) {
      for (const response_class what : kinds) {
        for (const wanted& w : places) check(r, what, w, from_peer);
      }
    }
  });
}

// The peer says for how long: up to 0.66 s, in which the adapter would take no other command.
TEST(reactions, an_rnr_nak_holds_nothing_up) {
  run_requests([](requests& r) {
    for (const bool by_destroying : {false, true}) {
      r.ask_all();
      packet_header h = response(r.wire, r.qp->qp_num, response_class::rnr_nak, write_last);
      h.syndrome = wire::rnr_nak;  // 655.36 ms
      r.put(h);
      const ps begin = r.c.time();
      EXPECT_EQ(by_destroying ? ibv_destroy_qp(r.c, r.qp) : r.p.reset(r.qp), 0);
      EXPECT_LT(r.c.time() - begin, 1_ms);
    }
  });
}

// A NAK that comes again while the requester rests is of the same try.
TEST(reactions, rnr_naks_of_one_try_count_once) {
  run_requests([](requests& r) {
    r.options.rnr_retry = 1;
    r.ask_all();
    packet_header h = response(r.wire, r.qp->qp_num, response_class::rnr_nak, write_last);
    h.syndrome = wire::rnr_nak | 8;  // 160 us
    for (int i = 0; i < 3; ++i) r.answer(h, 0, 10_us);
    EXPECT_TRUE(r.completions().empty());
    EXPECT_EQ(r.p.state(r.qp), IBV_QPS_RTS);
    EXPECT_EQ(r.requests_after(300_us).size(), 4U) << "it has come back once";
    r.answer(h, 0, 10_us);  // the second try, which is one too many
    const auto done = r.completions();
    ASSERT_EQ(done.size(), 4U);
    EXPECT_EQ(done[0].status, IBV_WC_RNR_RETRY_EXC_ERR);
  });
}

// Without an outstanding request, every response is discarded.
TEST(reactions, without_a_request_every_response_is_discarded) {
  run_requests([](requests& r) {
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
      ASSERT_EQ(r.p.reset(r.qp), 0);
      if (state != IBV_QPS_RESET) {
        r.connect();
      }
      if (state == IBV_QPS_SQD || state == IBV_QPS_ERR) {
        ibv_qp_attr a{};
        a.qp_state = state;
        ASSERT_EQ(ibv_modify_qp(r.c, r.qp, &a, IBV_QP_STATE), 0);
      }
      r.completions();
      const double discarded = statistic_of(r.n.hca.requester, "discarded");
      for (const response_class what : kinds) {
        for (const wanted& w : places) r.put(response(r.wire, r.qp->qp_num, what, w.psn));
      }
      EXPECT_EQ(statistic_of(r.n.hca.requester, "discarded"), discarded + 45) << state;
      EXPECT_TRUE(r.completions().empty()) << state;
      EXPECT_TRUE(r.wire.requests().empty()) << state;
      EXPECT_EQ(r.p.state(r.qp), state);
    }
    for (const response_class what : kinds) r.put(response(r.wire, 0x3ff, what, psn0));
  });
}

TEST(reactions, of_unreliable_qps) {
  run_requests([](requests& r) {
    qp_options o = r.options;
    o.type = IBV_QPT_UC;
    ibv_qp* const qp = r.p.create_qp(o);
    ASSERT_EQ(r.p.connect(qp, r.peer, o), 0);
    ASSERT_EQ(post(r.c, qp, {.id = 1, .sges = {{r.here.addr, 3 * r.mtu, r.here.mr->lkey}}, .remote = 0x1000, .rkey = 0x100}),
              0);
    for (const response_class what : kinds) {
      for (const wanted& w : places) r.put(response(r.wire, qp->qp_num, what, w.psn));
    }
    EXPECT_EQ(r.completions().size(), 1U);
    EXPECT_EQ(r.wire.requests().size(), 3U);
    EXPECT_EQ(r.p.state(qp), IBV_QPS_RTS);
  });
}

}  // namespace
}  // namespace hcasim::kit
