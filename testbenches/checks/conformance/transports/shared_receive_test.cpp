// Shared receive queues: TC-M21, and the text around the table [D.1, D.2].
#include <array>
#include <deque>
#include <set>

#include "models/driver/device/access.h"
#include "models/driver/objects/objects.h"
#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(TC_M21) {
  process_context p(c, n);
  ibv_pd* pd1 = ibv_alloc_pd(c, p.context);
  ibv_srq* srq = create_srq(c, pd1);
  ASSERT_NE(srq, nullptr);
  const region here = p.allocate(4096);
  const region target = p.allocate(4096);
  const region of_pd1 = p.allocate(4096, all_rights, page_policy::scattered, pd1);
  ibv_qp* a = p.create_qp();
  ibv_qp* b = p.create_qp({.srq = srq});
  ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
  ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
  p.fill(here.addr, 4096, 3);
  std::vector<ibv_wc> received;
  const auto receive = [&] {
    ibv_wc wc{};
    wc.status = IBV_WC_GENERAL_ERR;
    if (!received.empty()) {
      wc = received.front();
      received.clear();
    } else if (const auto next = next_completion(c, p.cq, 10_ms)) {
      wc = *next;
    }
    return wc;
  };
  ASSERT_EQ(post_receive(c, srq, 5, {{of_pd1.addr, 64, of_pd1.mr->lkey}}), 0);
  request w{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .sges = {{here.addr, 64, here.mr->lkey}}, .remote = target.addr};
  w.rkey = target.mr->rkey;
  EXPECT_EQ(complete(c, a, w, &received).status, IBV_WC_SUCCESS);
  ibv_wc wc = receive();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.wr_id, 5U);
  // A SEND lands under the SRQ's PD as well; a receive under the QP's PD is refused.
  ASSERT_EQ(post_receive(c, srq, 6, {{of_pd1.addr, 64, of_pd1.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, a, {.opcode = IBV_WR_SEND, .sges = {{here.addr, 64, here.mr->lkey}}}, &received).status,
            IBV_WC_SUCCESS);
  EXPECT_EQ(receive().wr_id, 6U);
  EXPECT_EQ(p.bytes(of_pd1.addr, 64), p.bytes(here.addr, 64));
  const auto before = p.bytes(target.addr, 4096);
  ASSERT_EQ(post_receive(c, srq, 7, {{target.addr, 64, target.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, a, {.opcode = IBV_WR_SEND, .sges = {{here.addr, 64, here.mr->lkey}}}, &received).status,
            IBV_WC_REM_OP_ERR);
  wc = receive();
  EXPECT_EQ(wc.wr_id, 7U);
  EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(p.bytes(target.addr, 4096), before);
}

// The PD, the SRQ and the address handle cannot go while they are used [B4.3].
TEST(conformance, srq_and_address_handle_are_counted) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_pd* pd = ibv_alloc_pd(c, p.context);
    ibv_srq* srq = create_srq(c, pd);
    EXPECT_EQ(ibv_dealloc_pd(c, pd), EBUSY);
    ibv_qp* qp = p.create_qp({.srq = srq});
    EXPECT_EQ(ibv_destroy_srq(c, srq), EBUSY);
    EXPECT_EQ(post_receive(c, qp, 1, {}), EINVAL) << "it has no receive queue";
    EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
    EXPECT_EQ(ibv_destroy_srq(c, srq), 0);
    ibv_ah_attr to{1, 0, 1};
    ibv_ah* ah = ibv_create_ah(c, pd, &to);
    EXPECT_EQ(ibv_dealloc_pd(c, pd), EBUSY);
    EXPECT_EQ(ibv_destroy_ah(c, ah), 0);
    EXPECT_EQ(ibv_dealloc_pd(c, pd), 0);
    to.port_num = 2;
    EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr);
    ibv_srq_init_attr init{nullptr, {0, 1, 0}};
    EXPECT_EQ(ibv_create_srq(c, p.pd, &init), nullptr);
    EXPECT_EQ(errno, EINVAL);
  });
}

// Four QPs take from one SRQ; every receive is used once, and slots are used again in the order in which they came free.
TEST(conformance, an_srq_serves_several_qps) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd, 7);
    const region from = p.allocate(4096);
    const region to = p.allocate(8 * 4096);
    std::vector<ibv_qp*> a;
    ibv_cq* received = ibv_create_cq(c, p.context, 64, nullptr, nullptr, 0);
    for (int i = 0; i < 4; ++i) {
      a.push_back(p.create_qp());
      ibv_qp* b = p.create_qp({.srq = srq}, nullptr, received);
      ASSERT_EQ(p.connect(a.back(), p.address_of(b)), 0);
      ASSERT_EQ(p.connect(b, p.address_of(a.back())), 0);
    }
    std::uint64_t next = 0;
    const auto refill = [&] {
      const std::uint64_t id = next % 8;
      if (post_receive(c, srq, next, {{to.addr + 4096 * id, 4096, to.mr->lkey}}) != 0) return false;
      ++next;
      return true;
    };
    while (refill()) {
    }
    EXPECT_EQ(next, 7U) << "as many as asked for, then ENOMEM";
    std::vector<bool> seen(200);
    for (std::uint64_t i = 0; i < 100; ++i) {
      p.store64(from.addr, i);
      for (ibv_qp* qp : {a[i % 4], a[(i + 1) % 4]}) {
        ASSERT_EQ(complete(c, qp, {.opcode = IBV_WR_SEND, .sges = {{from.addr, 8, from.mr->lkey}}}).status, IBV_WC_SUCCESS);
      }
      for (int k = 0; k < 2; ++k) {
        const auto wc = next_completion(c, received, 1_ms);
        ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
        ASSERT_LT(wc->wr_id, next);
        ASSERT_FALSE(seen[wc->wr_id]);
        seen[wc->wr_id] = true;
        EXPECT_EQ(p.load64(to.addr + 4096 * (wc->wr_id % 8)), i);
        ASSERT_TRUE(refill());
      }
    }
  });
}

// Two QPs with a CQ each at random: few or many receives are posted, and completions are polled in any order. The list of free
// slots thus soon jumps about. Each message lies where its receive says.
void jump_about(cpu& c, process_context& p, std::uint64_t seed) {
  random_stream chance(seed, "srq");
  constexpr std::uint32_t depth = 15;
  constexpr std::uint64_t places = 64;
  ibv_srq* srq = create_srq(c, p.pd, depth);
  const region from = p.allocate(4096);
  const region to = p.allocate(places * 64);
  std::array<ibv_cq*, 2> received{};
  std::array<ibv_qp*, 2> senders{};
  for (std::size_t i = 0; i < 2; ++i) {
    received[i] = ibv_create_cq(c, p.context, 64, nullptr, nullptr, 0);
    senders[i] = p.create_qp();
    ibv_qp* b = p.create_qp({.srq = srq}, nullptr, received[i]);
    ASSERT_EQ(p.connect(senders[i], p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(senders[i])), 0);
  }
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::array<std::deque<std::uint64_t>, 2> under_way;  // sent messages, by QP
  std::set<std::uint64_t> used;
  for (int round = 0; round < 40; ++round) {
    while (posted - sent < depth && !chance.chance(0.2)) {
      ASSERT_EQ(post_receive(c, srq, posted, {{to.addr + 64 * (posted % places), 64, to.mr->lkey}}), 0);
      ++posted;
    }
    for (std::uint64_t left = chance.below(posted - sent + 1); left > 0; --left) {
      const std::size_t i = chance.below(2);
      p.store64(from.addr, sent);
      const request send{.opcode = IBV_WR_SEND, .sges = {{from.addr, 8, from.mr->lkey}}};
      ASSERT_EQ(complete(c, senders[i], send).status, IBV_WC_SUCCESS);
      under_way[i].push_back(sent++);
    }
    while (!under_way[0].empty() || !under_way[1].empty()) {
      const std::size_t i = under_way[0].empty() ? 1 : under_way[1].empty() ? 0 : chance.below(2);
      const auto wc = next_completion(c, received[i], 1_ms);
      ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
      ASSERT_LT(wc->wr_id, posted);
      ASSERT_TRUE(used.insert(wc->wr_id).second);
      ASSERT_EQ(p.load64(to.addr + 64 * (wc->wr_id % places)), under_way[i].front());
      under_way[i].pop_front();
    }
  }
}

TEST(conformance, an_srq_read_ahead_is_never_stale) {
  run_case([](cpu& c, node& n) {
    for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      process_context p(c, n);
      jump_about(c, p, seed);
    }
  });
}

// Receives in the order of the list take a DMA read for each group of four.
TEST(conformance, an_srq_is_read_in_groups) {
  run_case([](cpu& c, node& n) {
    constexpr std::uint64_t messages = 64;
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd, 2 * messages - 1);
    const region m = p.allocate(4096);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp({.srq = srq}, nullptr, ibv_create_cq(c, p.context, 2 * messages, nullptr, nullptr, 0));
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    for (std::uint64_t i = 0; i < messages; ++i) ASSERT_EQ(post_receive(c, srq, i, {{m.addr, 64, m.mr->lkey}}), 0);
    const auto reads = [&] { return statistic_of(n.hca.dma_engine, "receive_wqe_requests"); };
    const double before = reads();
    for (std::uint64_t i = 0; i < messages; ++i) {
      const request send{.opcode = IBV_WR_SEND, .sges = {{m.addr + 1024, 8, m.mr->lkey}}};
      ASSERT_EQ(complete(c, a, send).status, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(reads() - before, messages / 4);
  });
}

TEST(conformance, an_empty_srq_is_receiver_not_ready) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd);
    const region m = p.allocate(4096);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp({.srq = srq});
    ASSERT_EQ(p.connect(a, p.address_of(b), {.rnr_retry = 1}), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    EXPECT_EQ(complete(c, a, {.opcode = IBV_WR_SEND, .sges = {{m.addr, 8, m.mr->lkey}}}).status, IBV_WC_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(p.state(b), IBV_QPS_RTS);
  });
}

TEST(conformance, an_srq_tells_of_its_limit_once_and_of_the_last_wqe) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd);
    const region m = p.allocate(4096);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp({.srq = srq});
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(post_receive(c, srq, i, {{m.addr, 64, m.mr->lkey}}), 0);
    ibv_srq_attr attr{0, 0, 4};
    ASSERT_EQ(ibv_modify_srq(c, srq, &attr, IBV_SRQ_LIMIT), 0);
    ASSERT_EQ(ibv_query_srq(c, srq, &attr), 0);
    EXPECT_EQ(attr.srq_limit, 4U);
    std::vector<ibv_wc> received;
    const request send{.opcode = IBV_WR_SEND, .sges = {{m.addr + 1024, 8, m.mr->lkey}}};
    for (int i = 0; i < 3; ++i) ASSERT_EQ(complete(c, a, send, &received).status, IBV_WC_SUCCESS);
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(e.element.srq, srq);
    ibv_ack_async_event(&e);
    ASSERT_EQ(ibv_query_srq(c, srq, &attr), 0);
    EXPECT_EQ(attr.srq_limit, 0U);

    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(c, b, &error, IBV_QP_STATE), 0);
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_QP_LAST_WQE_REACHED) << "and not a second limit";
    EXPECT_EQ(e.element.qp, b);
    ibv_ack_async_event(&e);
    attr.srq_limit = 32;
    EXPECT_EQ(ibv_modify_srq(c, srq, &attr, IBV_SRQ_LIMIT), EINVAL);
  });
}

// A limit above the number of posted receives is reached when set, as on real adapters.
CONFORMANCE(TC_H18) {
  process_context p(c, n);
  ibv_srq* srq = create_srq(c, p.pd);
  const region m = p.allocate(4096);
  const auto arm = [&](std::uint32_t limit) {
    ibv_srq_attr attr{0, 0, limit};
    EXPECT_EQ(ibv_modify_srq(c, srq, &attr, IBV_SRQ_LIMIT), 0);
    c.spend(100_us);
    c.sync();
    EXPECT_EQ(ibv_query_srq(c, srq, &attr), 0);
    return attr.srq_limit;
  };
  const auto events = [&] { return static_cast<const driver::process&>(*p.context).async_events.size(); };
  EXPECT_EQ(arm(1), 0U);
  EXPECT_EQ(events(), 1U) << "none is posted";
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(post_receive(c, srq, i, {{m.addr, 64, m.mr->lkey}}), 0);
  EXPECT_EQ(arm(5), 5U) << "as many as are posted";
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(arm(6), 0U);
  EXPECT_EQ(events(), 2U);
  EXPECT_EQ(arm(0), 0U) << "no limit";
  EXPECT_EQ(events(), 2U);
  for (int i = 0; i < 2; ++i) {
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(e.element.srq, srq);
    ibv_ack_async_event(&e);
  }
  EXPECT_EQ(ibv_destroy_srq(c, srq), 0);
}

// The SRQ grows while receives are posted, used and given back: each takes the next message, and none is lost.
void grow_under_way(cpu& c, node& n, std::uint64_t seed) {
  random_stream chance(seed, "srq");
  process_context p(c, n);
  constexpr std::uint64_t messages = 400;
  ibv_srq* srq = create_srq(c, p.pd, 3);
  ibv_cq* cq = ibv_create_cq(c, p.context, messages, nullptr, nullptr, 0);
  ibv_qp* a = p.create_qp({.send_depth = messages});
  ibv_qp* b = p.create_qp({.srq = srq}, nullptr, cq);
  ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
  ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
  const region from = p.allocate(messages * 8);
  const region to = p.allocate(messages * 8);
  p.fill(from.addr, messages * 8, static_cast<std::uint8_t>(seed));
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  n.host.run("user", [&](cpu& other) {
    while (received < messages && !::testing::Test::HasFailure()) {
      for (std::uint64_t k = chance.below(20); k > 0 && posted < messages; --k) {
        if (post_receive(other, srq, posted, {{to.addr + posted * 8, 8, to.mr->lkey}}) != 0) break;
        ++posted;
      }
      for (std::uint64_t k = chance.below(10); k > 0 && sent < posted; --k, ++sent) {
        ASSERT_EQ(
            post(other, a, {.opcode = IBV_WR_SEND, .id = sent, .sges = {{from.addr + sent * 8, 8, from.mr->lkey}}, .flags = 0}),
            0);
      }
      ibv_wc wc[8];
      const int found = ibv_poll_cq(other, cq, static_cast<int>(1 + chance.below(8)), wc);
      for (int i = 0; i < found; ++i) {
        ASSERT_EQ(wc[i].status, IBV_WC_SUCCESS);
        ASSERT_EQ(wc[i].wr_id, received++) << "seed " << seed;
      }
      if (found == 0) wait_cq(other, cq, 2_us);
    }
  });
  std::uint32_t room = 3;
  while (received < messages && !::testing::Test::HasFailure()) {
    c.spend(ps(static_cast<std::int64_t>(chance.below(30'000'000))));
    c.sync();
    if (room > 4000) continue;
    ibv_srq_attr attr{room + 1 + static_cast<std::uint32_t>(chance.below(room)), 0, 0};
    ASSERT_EQ(ibv_modify_srq(c, srq, &attr, IBV_SRQ_MAX_WR), 0);
    ASSERT_EQ(ibv_query_srq(c, srq, &attr), 0);
    ASSERT_GT(attr.max_wr, room);
    room = attr.max_wr;
  }
  EXPECT_EQ(p.bytes(to.addr, messages * 8), p.bytes(from.addr, messages * 8));
}

TEST(conformance, an_srq_grows_under_traffic) {
  run_case([](cpu& c, node& n) {
    for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFatalFailure(); ++seed) grow_under_way(c, n, seed);
  });
}

TEST(conformance, an_srq_has_the_room_that_it_says) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd, 3);
    const region m = p.allocate(4096);
    const auto resize = [&](std::uint32_t max_wr) {
      ibv_srq_attr attr{max_wr, 0, 0};
      return ibv_modify_srq(c, srq, &attr, IBV_SRQ_MAX_WR);
    };
    const auto fill = [&] {
      std::uint32_t taken = 0;
      while (post_receive(c, srq, taken, {{m.addr, 8, m.mr->lkey}}) == 0) ++taken;
      return taken;
    };
    EXPECT_EQ(fill(), 3U);
    EXPECT_EQ(resize(2), EINVAL) << "three are there";
    EXPECT_EQ(resize(0), EINVAL);
    EXPECT_EQ(resize(1 << 15), EINVAL);
    EXPECT_EQ(resize(3), 0);
    EXPECT_EQ(fill(), 0U);
    EXPECT_EQ(resize(300), 0);
    EXPECT_EQ(fill(), 508U) << "511, of which three were there";
    ibv_srq_attr both{600, 0, 400};
    EXPECT_EQ(ibv_modify_srq(c, srq, &both, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
    EXPECT_EQ(ibv_query_srq(c, srq, &both), 0);
    EXPECT_EQ(both.max_wr, 1023U);
    EXPECT_EQ(both.srq_limit, 400U) << "fewer than are posted";
    EXPECT_EQ(resize(511), 0) << "all that are there fit; it keeps what it has";
    EXPECT_EQ(ibv_query_srq(c, srq, &both), 0);
    EXPECT_EQ(both.max_wr, 1023U);
    EXPECT_EQ(ibv_destroy_srq(c, srq), 0);
  });
}

// A QP that is reset in the middle of a message gives the receive back to the SRQ's owner.
TEST(conformance, a_reset_loses_no_receive_of_an_srq) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd, 3);
    const region m = p.allocate(1 << 20);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp({.srq = srq});
    for (int round = 0; round < 6; ++round) {
      ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
      ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
      ASSERT_EQ(post_receive(c, srq, 1, {{m.addr, 1 << 19, m.mr->lkey}}), 0) << "round " << round;
      ASSERT_EQ(post(c, a, {.opcode = IBV_WR_SEND, .sges = {{m.addr + (1 << 19), 1 << 19, m.mr->lkey}}}), 0);
      c.spend(ps(10'000'000));
      c.sync();
      ASSERT_EQ(p.reset(b), 0);
      ASSERT_EQ(p.reset(a), 0);
    }
  });
}

}  // namespace
}  // namespace hcasim::kit
