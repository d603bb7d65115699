// Rules of queues: overflow of a CQ, flushing, unsolicited completions, READ depth, recovery through RESET [D.1, D.2].
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/counters.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

request unsignaled(request r) {
  r.flags = 0;
  return r;
}

// Through its page of doorbells a process may ring its own queues, and no others. Otherwise the adapter would execute requests,
// and use receives, that were never posted.
CONFORMANCE(TC_A32) {
  base_case t(c, n);  // page 1; page 0 is the kernel's
  process_context other(c, n);
  ASSERT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  const auto ring = [&](std::uint32_t uar, std::uint32_t where, const ibv_qp* qp) {
    const hca_doorbell d{qp->qp_num, 5};
    c.mmio_write(node::adapter_bar(0) + HCA_BAR_UAR + std::uint64_t{uar} * HCA_UAR_PAGE + where,
                 std::as_bytes(std::span(&d, 1)));
    c.spend(10_us);
    c.sync();
  };
  for (const std::uint32_t uar : {0U, 2U, 3U, HCA_UAR_COUNT - 1U}) {
    for (const ibv_qp* qp : {t.a, t.b}) {
      ring(uar, HCA_UAR_SQ, qp);
      ring(uar, HCA_UAR_RQ, qp);
    }
  }
  EXPECT_EQ(statistic_of(n.hca.doorbell, "foreign"), 16.0);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_RTS);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS);
  ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .id = 3, .sges = {{t.here.addr, 64, t.here.mr->lkey}}}), 0);
  EXPECT_FALSE(next_completion(c, t.p.cq, 100_us)) << "no receive was posted";
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  for (int i = 0; i < 2; ++i) {
    const auto wc = next_completion(c, t.p.cq, 10_ms);
    ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
  }
  ring(1, HCA_UAR_SQ, t.a);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR) << "its own is heard: what was never posted is not a request";
}

// The same of CQs: armed by others they would raise events without a request; their consumer index would let CQEs be
// overwritten. EQs are the kernel's.
CONFORMANCE(TC_A33) {
  base_case t(c, n);
  process_context other(c, n);
  ASSERT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  ibv_comp_channel* const channel = ibv_create_comp_channel(c, t.p.context);
  ibv_cq* const cq = ibv_create_cq(c, t.p.context, 4, nullptr, channel, 0);
  ibv_qp* const qp = t.p.create_qp({}, nullptr, cq);
  ASSERT_EQ(t.p.connect(qp, t.p.address_of(qp)), 0);
  const std::uint32_t cqn = static_cast<const driver::completion_queue&>(*cq).number;
  const auto ring = [&](std::uint32_t uar, std::uint32_t where, std::uint32_t number, std::uint32_t value) {
    const hca_doorbell d{number, value};
    c.mmio_write(node::adapter_bar(0) + HCA_BAR_UAR + std::uint64_t{uar} * HCA_UAR_PAGE + where,
                 std::as_bytes(std::span(&d, 1)));
    c.spend(10_us);
    c.sync();
  };
  for (const std::uint32_t uar : {0U, 2U, 3U, HCA_UAR_COUNT - 1U}) {
    ring(uar, HCA_UAR_CQ, cqn | HCA_ARM_NEXT << 24, 0);
    ring(uar, HCA_UAR_CQ, cqn, 4);
  }
  for (const std::uint32_t uar : {1U, 2U}) ring(uar, HCA_UAR_EQ, HCA_ARM_NEXT << 24, 100);
  EXPECT_EQ(statistic_of(n.hca.doorbell, "foreign"), 10.0);
  const request r{.sges = {{t.here.addr, 8, t.here.mr->lkey}}, .remote = t.there.addr, .rkey = t.there.mr->rkey};
  for (int i = 0; i < 4; ++i) ASSERT_EQ(post(c, qp, r), 0);
  c.spend(100_us);
  c.sync();
  EXPECT_TRUE(static_cast<driver::completion_channel&>(*channel).pending.empty()) << "it was not armed";
  ASSERT_EQ(post(c, qp, r), 0);
  ibv_async_event e{};
  ASSERT_EQ(ibv_get_async_event(c, t.p.context, &e), 0);
  EXPECT_EQ(e.event_type, IBV_EVENT_CQ_ERR) << "nothing of it was consumed";
  ibv_ack_async_event(&e);
}

TEST(conformance, a_cq_that_overflows_says_so) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_cq* tiny = ibv_create_cq(c, p.context, 2, nullptr, nullptr, 0);
    ibv_qp* a = p.create_qp({}, nullptr, tiny);
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region m = p.allocate(4096);
    for (std::uint64_t i = 0; i < 4; ++i) {
      ASSERT_EQ(post(c, a, {.id = i, .sges = {{m.addr, 8, m.mr->lkey}}, .remote = m.addr + 64, .rkey = m.mr->rkey}), 0);
    }
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_CQ_ERR);
    EXPECT_EQ(e.element.cq, tiny);
    ibv_ack_async_event(&e);
    ibv_wc wc{};
    ASSERT_EQ(ibv_poll_cq(c, tiny, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 0U);
    ASSERT_EQ(ibv_poll_cq(c, tiny, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 1U) << "what was there is not overwritten";
  });
}

// A completion carries its time, on the clock readable by software.
TEST(conformance, completions_carry_the_time) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region m = p.allocate(1 << 20);
    const auto clock = [&] {
      std::uint64_t ticks = 0;
      EXPECT_EQ(hcax_query_clock(c, p.context, &ticks), 0);
      return ticks;
    };
    for (const std::uint32_t bytes : {8U, 1U << 19}) {
      const std::uint64_t before = clock();
      const ps begin = c.time();
      const ibv_wc wc =
          complete(c, a, {.sges = {{m.addr, bytes, m.mr->lkey}}, .remote = m.addr + (1 << 19), .rkey = m.mr->rkey});
      c.spend(100_us);
      const std::uint64_t after = clock();
      EXPECT_GT(wc.completion_timestamp, before);
      EXPECT_LT(wc.completion_timestamp + 99'000, after) << "when it was made, not when it was polled";
      EXPECT_NEAR(static_cast<double>(after - before), static_cast<double>((c.time() - begin).count()) / 1000, 10)
          << "a tick is a nanosecond";
    }
  });
}

// A CQ grows and shrinks while completions come. Each is polled once, in order, whatever is in flight, before and after the old
// buffer is gone. The CQ still overflows at its size and not before.
void resize_under_way(cpu& c, process_context& p, std::uint64_t seed) {
  random_stream chance(seed, "resize");
  ibv_cq* cq = ibv_create_cq(c, p.context, 16, nullptr, nullptr, 0);
  ibv_qp* a = p.create_qp({.send_depth = 128}, nullptr, cq);
  ibv_qp* b = p.create_qp();
  ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
  ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
  const region m = p.allocate(8192);
  std::uint64_t posted = 0;
  std::uint64_t polled = 0;
  const auto poll = [&](std::uint64_t most) {
    for (; most > 0 && polled < posted; --most) {
      const auto wc = next_completion(c, cq, 1_ms);
      ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS) << polled;
      ASSERT_EQ(wc->wr_id, polled) << "seed " << seed;
      ++polled;
    }
  };
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t room = static_cast<std::uint64_t>(cq->cqe) - (posted - polled);
    for (std::uint64_t k = chance.below(std::min<std::uint64_t>(room, 100) + 1); k > 0; --k) {
      const auto bytes = static_cast<std::uint32_t>(1 + chance.below(2) * chance.below(4096));
      ASSERT_EQ(post(c, a, {.id = posted, .sges = {{m.addr, bytes, m.mr->lkey}}, .remote = m.addr + 4096, .rkey = m.mr->rkey}),
                0);
      ++posted;
    }
    if (chance.chance(0.5)) c.spend(ps(static_cast<std::int64_t>(chance.below(3'000'000))));
    poll(chance.below(posted - polled + 1));
    // Room for the CQEs under way; less would overflow.
    const std::uint64_t wanted = std::bit_ceil(std::max<std::uint64_t>(posted - polled, 1)) << chance.below(3);
    ASSERT_EQ(ibv_resize_cq(c, cq, static_cast<int>(wanted)), 0);
    ASSERT_EQ(static_cast<std::uint64_t>(cq->cqe), wanted);
    if (chance.chance(0.3)) poll(~std::uint64_t{0});
  }
  poll(~std::uint64_t{0});
}

TEST(conformance, a_cq_is_resized_while_completions_come) {
  run_case([](cpu& c, node& n) {
    for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFatalFailure(); ++seed) {
      process_context p(c, n);
      resize_under_way(c, p, seed);
    }
  });
}

// The adapter may be a pass further in the new buffer, where another thread has polled the old one meanwhile.
TEST(conformance, a_cq_is_resized_while_a_thread_polls) {
  run_case([](cpu& c, node& n) {
    random_stream chance(1, "resize");
    process_context p(c, n);
    ibv_cq* cq = ibv_create_cq(c, p.context, 4, nullptr, nullptr, 0);
    ibv_qp* a = p.create_qp({.send_depth = 32}, nullptr, cq);
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region m = p.allocate(4096);
    constexpr std::uint64_t messages = 3000;
    std::uint64_t posted = 0;
    std::uint64_t polled = 0;
    n.host.run("poller", [&](cpu& other) {
      while (polled < messages) {
        ibv_wc wc[3];
        const int found = ibv_poll_cq(other, cq, static_cast<int>(1 + polled % 3), wc);
        for (int i = 0; i < found; ++i) {
          EXPECT_EQ(wc[i].wr_id, polled++);
          EXPECT_EQ(wc[i].status, IBV_WC_SUCCESS);
        }
        if (found == 0) wait_cq(other, cq, 1_ms);
        if (::testing::Test::HasFailure()) return;
      }
    });
    const auto post_some = [&] {
      while (posted < messages && posted - polled < static_cast<std::uint64_t>(cq->cqe) && !chance.chance(0.2)) {
        ASSERT_EQ(post(c, a, {.id = posted, .sges = {{m.addr, 8, m.mr->lkey}}, .remote = m.addr + 64, .rkey = m.mr->rkey}), 0);
        ++posted;
      }
    };
    while (polled < messages && !::testing::Test::HasFailure()) {
      post_some();
      const std::uint64_t wanted = std::bit_ceil(std::max<std::uint64_t>(posted - polled, 1)) << chance.below(2);
      ASSERT_EQ(ibv_resize_cq(c, cq, static_cast<int>(wanted)), 0);
    }
    c.spend(1_ms);
    c.sync();
    EXPECT_EQ(polled, messages);
  });
}

TEST(conformance, a_resized_cq_is_as_full_as_it_says) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_cq* cq = ibv_create_cq(c, p.context, 4, nullptr, nullptr, 0);
    ibv_qp* a = p.create_qp({}, nullptr, cq);
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region m = p.allocate(4096);
    const auto write = [&](std::uint64_t id) {
      return post(c, a, {.id = id, .sges = {{m.addr, 8, m.mr->lkey}}, .remote = m.addr + 64, .rkey = m.mr->rkey});
    };
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(write(i), 0);
    c.spend(50_us);
    EXPECT_EQ(ibv_resize_cq(c, cq, 2), EINVAL) << "four are there";
    EXPECT_EQ(ibv_resize_cq(c, cq, 0), EINVAL);
    EXPECT_EQ(ibv_resize_cq(c, cq, (1 << 22) + 1), EINVAL);
    EXPECT_EQ(cq->cqe, 4);
    ASSERT_EQ(ibv_resize_cq(c, cq, 7), 0);
    EXPECT_EQ(cq->cqe, 8);
    for (std::uint64_t i = 4; i < 9; ++i) ASSERT_EQ(write(i), 0);
    ibv_async_event e{};
    ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
    EXPECT_EQ(e.event_type, IBV_EVENT_CQ_ERR) << "by the ninth";
    ibv_ack_async_event(&e);
    for (std::uint64_t i = 0; i < 8; ++i) {
      ibv_wc wc{};
      ASSERT_EQ(ibv_poll_cq(c, cq, 1, &wc), 1);
      EXPECT_EQ(wc.wr_id, i);
    }
    EXPECT_EQ(ibv_resize_cq(c, cq, 16), EINVAL) << "it is lost";
  });
}

// A thread that waits at the old buffer is woken by a CQE in the new one, and an armed CQ stays armed.
TEST(conformance, a_cq_is_resized_while_a_thread_waits) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_comp_channel* channel = ibv_create_comp_channel(c, p.context);
    ibv_cq* cq = ibv_create_cq(c, p.context, 4, nullptr, channel, 0);
    ibv_qp* a = p.create_qp({}, nullptr, cq);
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region m = p.allocate(4096);
    ASSERT_EQ(ibv_req_notify_cq(c, cq, 0), 0);
    ps found{0};
    n.host.run("poller", [&](cpu& other) {
      while (found == ps(0)) {
        ibv_wc wc{};
        if (ibv_poll_cq(other, cq, 1, &wc) == 1) {
          EXPECT_EQ(wc.wr_id, 3U);
          found = other.time();
        } else {
          wait_cq(other, cq, 100_ms);
        }
      }
    });
    c.spend(5_us);
    c.sync();
    ASSERT_EQ(ibv_resize_cq(c, cq, 64), 0);
    ASSERT_EQ(post(c, a, {.id = 3, .sges = {{m.addr, 8, m.mr->lkey}}, .remote = m.addr + 64, .rkey = m.mr->rkey}), 0);
    const ps begin = c.time();
    ibv_cq* which = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(c, channel, &which, &context), 0);
    EXPECT_EQ(which, cq);
    ibv_ack_cq_events(cq, 1);
    c.spend(20_us);
    c.sync();
    EXPECT_NE(found, ps(0));
    EXPECT_LT(found - begin, 20_us);
  });
}

// 8 MiB of receive WQEs and as much of CQEs in scattered pages: their lists have two levels. The receives pass from one node to
// the next.
CONFORMANCE(queues_of_more_pages_than_a_node_lists) {
  process_context p(c, n);
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(c, p.context, &attr), 0);
  EXPECT_EQ(attr.max_cqe, 1 << 22);
  ibv_cq* cq = ibv_create_cq(c, p.context, 1 << 17, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  const qp_options deep{.receive_depth = 32768, .sge = 16};
  ibv_qp* qp = p.create_qp(deep, nullptr, cq);
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(p.connect(qp, p.address_of(qp)), 0);
  const region m = p.allocate(8192);
  constexpr std::uint64_t node_of_receives = 8192;
  for (std::uint64_t i = 0; i < node_of_receives + 8; ++i) {
    ASSERT_EQ(post_receive(c, qp, i, {{m.addr + 4096 + i % 512 * 8, 8, m.mr->lkey}}), 0);
  }
  std::vector<ibv_wc> received;
  for (std::uint64_t i = 0; i < node_of_receives + 8; ++i) {
    p.store64(m.addr, i);
    const request r{.opcode = IBV_WR_SEND, .id = i, .sges = {{m.addr, 8, m.mr->lkey}}};
    ASSERT_EQ(complete(c, qp, r, &received).status, IBV_WC_SUCCESS) << i;
    ASSERT_EQ(p.load64(m.addr + 4096 + i % 512 * 8), i);
  }
}

// The adapters of most makers know one level only.
TEST(conformance, a_cq_as_large_as_a_flat_list_allows) {
  system_config flat = world::one_node();
  flat.nodes[0].hca.command_unit.queue_levels = 1;
  run_case(
      [](cpu& c, node& n) {
        process_context p(c, n);
        ibv_device_attr attr{};
        ASSERT_EQ(ibv_query_device(c, p.context, &attr), 0);
        EXPECT_EQ(attr.max_cqe, 1 << 15);
        EXPECT_NE(ibv_create_cq(c, p.context, attr.max_cqe, nullptr, nullptr, 0), nullptr);
        EXPECT_EQ(ibv_create_cq(c, p.context, attr.max_cqe + 1, nullptr, nullptr, 0), nullptr);
        EXPECT_EQ(errno, EINVAL);
      },
      flat);
}

// A packet that the other side has no room for would never go.
TEST(conformance, the_mtu_is_what_a_receive_buffer_holds) {
  system_config tight = world::two_nodes();
  tight.link.buffer = 1_KiB;
  world w(tight);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
                       process_context p(c, n);
                       ibv_port_attr port{};
                       ASSERT_EQ(ibv_query_port(c, p.context, 1, &port), 0);
                       EXPECT_EQ(port.max_mtu, IBV_MTU_4096);
                       EXPECT_EQ(port.active_mtu, IBV_MTU_512);
                       ibv_qp* qp = p.create_qp();
                       EXPECT_EQ(p.connect(qp, p.address_of(qp), {.mtu = IBV_MTU_1024}), EINVAL);
                       EXPECT_EQ(p.reset(qp), 0);
                       EXPECT_EQ(p.connect(qp, p.address_of(qp), {.mtu = IBV_MTU_512}), 0);
                     },
                     [](cpu&, node&) {}}));
}

TEST(conformance, a_receive_buffer_holds_a_packet) {
  system_config tight = world::two_nodes();
  tight.link.buffer = 319;
  EXPECT_THROW(world{tight}, std::invalid_argument);
}

TEST(conformance, what_follows_an_error_is_flushed_in_order) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n);
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(post_receive(c, t.b, 100 + i, {}), 0);
    request bad = t.a_write(1);
    bad.rkey = ibv_inc_rkey(bad.rkey);
    ASSERT_EQ(post(c, t.a, t.a_write(0)), 0);
    ASSERT_EQ(post(c, t.a, bad), 0);
    for (std::uint64_t i = 2; i < 6; ++i) ASSERT_EQ(post(c, t.a, i % 2 ? unsignaled(t.a_write(i)) : t.a_write(i)), 0);
    std::vector<ibv_wc> sends;
    std::vector<ibv_wc> receives;
    while (sends.size() + receives.size() < 9) {
      const auto wc = next_completion(c, t.p.cq, 10_ms);
      ASSERT_TRUE(wc);
      (wc->qp_num == t.a->qp_num ? sends : receives).push_back(*wc);
    }
    ASSERT_EQ(sends.size(), 6U) << "an error is reported whether it was asked for or not";
    for (std::uint64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(sends[i].wr_id, i);
      EXPECT_EQ(sends[i].status, i == 0 ? IBV_WC_SUCCESS : i == 1 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
    }
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(receives[i].wr_id, 100 + i);
      EXPECT_EQ(receives[i].status, IBV_WC_WR_FLUSH_ERR);
    }
    // Requests posted now are flushed as well; through RESET both come back.
    EXPECT_EQ(complete(c, t.a, t.a_write(9)).status, IBV_WC_WR_FLUSH_ERR);
    t.reconnect();
    EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  });
}

TEST(conformance, unsignaled_requests_complete_with_the_next_signaled_one) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n, {.send_depth = 4});
    for (std::uint64_t round = 0; round < 8; ++round) {
      for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(post(c, t.a, unsignaled(t.a_write(i))), 0) << "round " << round;
      ASSERT_EQ(post(c, t.a, t.a_write(50 + round)), 0);
      const auto wc = next_completion(c, t.p.cq, 10_ms);
      ASSERT_TRUE(wc);
      EXPECT_EQ(wc->wr_id, 50 + round);
    }
  });
}

TEST(conformance, the_read_depth_holds_reads_back) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n, {.read_depth = 1});
    for (std::uint64_t i = 0; i < 6; ++i) {
      ASSERT_EQ(post(c, t.a,
                     {.opcode = IBV_WR_RDMA_READ,
                      .id = i,
                      .sges = {{t.here.addr + 2048 * i, 2048, t.here.mr->lkey}},
                      .remote = t.there.addr + 2048 * i,
                      .rkey = t.there.mr->rkey}),
                0);
    }
    for (std::uint64_t i = 0; i < 6; ++i) {
      const auto wc = next_completion(c, t.p.cq, 10_ms);
      ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
      EXPECT_EQ(wc->wr_id, i);
    }
    EXPECT_EQ(t.p.bytes(t.here.addr, 6 * 2048), t.p.bytes(t.there.addr, 6 * 2048));
  });
}

// A requester that asks for more than the responder has resources for is refused [D5].
TEST(conformance, more_reads_than_the_responder_has_resources_for) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    const region m = p.allocate(1 << 20);
    ibv_qp* a = p.create_qp();
    ibv_qp* b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b), {.read_depth = 8}), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a), {.read_depth = 1}), 0);
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_EQ(post(c, a,
                     {.opcode = IBV_WR_RDMA_READ,
                      .id = i,
                      .sges = {{m.addr, 1 << 18, m.mr->lkey}},
                      .remote = m.addr + (1 << 19),
                      .rkey = m.mr->rkey}),
                0);
    }
    ibv_wc_status last = IBV_WC_SUCCESS;
    for (std::uint64_t i = 0; i < 8 && last == IBV_WC_SUCCESS; ++i) last = next_completion(c, p.cq, 10_ms)->status;
    EXPECT_EQ(last, IBV_WC_REM_INV_REQ_ERR);
  });
}

}  // namespace
}  // namespace hcasim::kit
