// UC, UD and shared receive queues: TC-M21, TC-A22, and what the text around the table says of them [D.1, D.2, C6.7].
#include <fstream>

#include "models/driver/access.h"
#include "models/driver/objects.h"
#include "testbenches/conformance/base.h"

namespace hcasim::kit {
namespace {

constexpr qp_options uc{.type = IBV_QPT_UC};
constexpr qp_options ud{.type = IBV_QPT_UD};

request write_imm(const base_case& t, std::uint32_t bytes, std::uint32_t key) {
  return {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
          .id = 6,
          .sges = {{t.here.addr, bytes, t.here.mr->lkey}},
          .remote = t.there.addr,
          .rkey = key,
          .immediate = 77};
}

ibv_srq* create_srq(cpu& c, ibv_pd* pd, std::uint32_t depth = 16) {
  ibv_srq_init_attr init{nullptr, {depth, 2, 0}};
  return ibv_create_srq(c, pd, &init);
}

CONFORMANCE(TC_A22) {
  base_case t(c, n, uc);
  const auto before = t.p.bytes(t.there.addr, t.there.length);
  EXPECT_EQ(t.write(t.there.addr, ibv_inc_rkey(t.there.mr->rkey), 3000).status, IBV_WC_SUCCESS) << "nobody answers";
  c.spend(50_us);
  EXPECT_EQ(t.p.bytes(t.there.addr, t.there.length), before);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_RTS);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS);
  ASSERT_EQ(post_receive(c, t.b, 9, {}), 0);
  EXPECT_EQ(complete(c, t.a, write_imm(t, 3000, t.there.mr->rkey), &t.received).status, IBV_WC_SUCCESS);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.imm_data, 77U);
  EXPECT_EQ(t.p.bytes(t.there.addr, 3000), t.p.bytes(t.here.addr, 3000));
}

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
    EXPECT_EQ(ibv_modify_srq(c, srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
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

TEST(conformance, uc_has_no_reads_no_atomics_and_no_send_with_invalidate) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n, uc);
    for (const ibv_wr_opcode op : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV}) {
      EXPECT_EQ(post(c, t.a, {.opcode = op, .sges = {{t.here.addr, 8, t.here.mr->lkey}}}), EINVAL);
    }
  });
}

// The message is lost, the receive is there for the next one.
TEST(conformance, uc_drops_a_send_that_does_not_fit) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n, uc);
    ASSERT_EQ(post_receive(c, t.b, 8, {{t.there.addr, 2000, t.there.mr->lkey}}), 0);
    EXPECT_EQ(t.send(5000).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.send(1500).status, IBV_WC_SUCCESS);
    const ibv_wc wc = t.receive_completion();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, 8U);
    EXPECT_EQ(wc.byte_len, 1500U);
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS);
  });
}

TEST(conformance, uc_with_an_srq_completes_a_bad_receive_in_error) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd);
    const region m = p.allocate(16384);
    ibv_qp* a = p.create_qp(uc);
    qp_options with = uc;
    with.srq = srq;
    ibv_qp* b = p.create_qp(with);
    ASSERT_EQ(p.connect(a, p.address_of(b), uc), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a), uc), 0);
    ASSERT_EQ(post_receive(c, srq, 8, {{m.addr, 100, m.mr->lkey}}), 0);
    std::vector<ibv_wc> received;
    EXPECT_EQ(complete(c, a, {.opcode = IBV_WR_SEND, .sges = {{m.addr + 8192, 300, m.mr->lkey}}}, &received).status,
              IBV_WC_SUCCESS);
    const ibv_wc wc = received.empty() ? *next_completion(c, p.cq, 10_ms) : received.front();
    EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(wc.wr_id, 8U);
    EXPECT_EQ(p.state(b), IBV_QPS_RTS);
  });
}

// A send error stops the send side only, and RTS brings it back [D.2].
TEST(conformance, uc_goes_to_sqe_and_back) {
  run_case([](cpu& c, node& n) {
    base_case t(c, n, uc);
    const request bad{.id = 1, .sges = {{t.here.addr, 64, ibv_inc_rkey(t.here.mr->lkey)}}, .remote = t.there.addr};
    const request good{.id = 2, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .remote = t.there.addr, .rkey = t.there.mr->rkey};
    ASSERT_EQ(post(c, t.a, bad), 0);
    ASSERT_EQ(post(c, t.a, good), 0);
    EXPECT_EQ(next_completion(c, t.p.cq, 10_ms)->status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(next_completion(c, t.p.cq, 10_ms)->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(t.p.state(t.a), IBV_QPS_SQE);
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS);
    // It still receives.
    ASSERT_EQ(post_receive(c, t.a, 5, {{t.there.addr + 8192, 64, t.there.mr->lkey}}), 0);
    EXPECT_EQ(complete(c, t.b, {.opcode = IBV_WR_SEND, .sges = {{t.here.addr, 64, t.here.mr->lkey}}}, &t.received).status,
              IBV_WC_SUCCESS);
    std::erase_if(t.received, [&](const ibv_wc& wc) { return wc.qp_num != t.a->qp_num; });
    const auto wc = t.received.empty() ? next_completion(c, t.p.cq, 10_ms) : t.received.front();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, 5U);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);

    ibv_qp_attr rts{};
    rts.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(c, t.a, &rts, IBV_QP_STATE), 0);
    EXPECT_EQ(complete(c, t.a, good, &t.received).status, IBV_WC_SUCCESS);
    c.spend(20_us);
    EXPECT_EQ(t.p.bytes(t.there.addr, 64), t.p.bytes(t.here.addr, 64));
  });
}

// Over a link that loses packets: no part of a message is reported, and what is reported is whole.
TEST(conformance, uc_reports_whole_messages_only) {
  system_config config = world::two_nodes();
  config.link.loss = 0.02;
  world w(config);
  constexpr int messages = 300;
  constexpr std::uint32_t size = 5000;
  out_of_band<address> to_sender;
  out_of_band<address> to_receiver;
  int whole = 0;
  int sent = 0;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region m = p.allocate(8192);
                       ibv_qp* qp = p.create_qp(uc);
                       to_receiver.send(c, p.address_of(qp, uc));
                       ASSERT_EQ(p.connect(qp, to_sender.receive(c), uc), 0);
                       for (int i = 0; i < messages; ++i) {
                         const std::vector<std::uint32_t> words(size / 4, static_cast<std::uint32_t>(i));
                         p.memory.write(m.addr, std::as_bytes(std::span(words)));
                         const request r{.opcode = IBV_WR_SEND_WITH_IMM,
                                         .sges = {{m.addr, size, m.mr->lkey}},
                                         .immediate = static_cast<std::uint32_t>(i)};
                         sent += complete(c, qp, r).status == IBV_WC_SUCCESS ? 1 : 0;
                       }
                     },
                     [&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region m = p.allocate(16 * 8192);
                       ibv_qp* qp = p.create_qp(uc);
                       to_sender.send(c, p.address_of(qp, uc));
                       ASSERT_EQ(p.connect(qp, to_receiver.receive(c), uc), 0);
                       for (std::uint64_t i = 0; i < 16; ++i) {
                         ASSERT_EQ(post_receive(c, qp, i, {{m.addr + i * 8192, 8192, m.mr->lkey}}), 0);
                       }
                       while (const auto wc = next_completion(c, p.cq, 1_ms)) {
                         ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
                         ASSERT_EQ(wc->byte_len, size);
                         std::vector<std::uint32_t> words(size / 4);
                         const std::uint64_t at = m.addr + wc->wr_id * 8192;
                         p.memory.read(at, std::as_writable_bytes(std::span(words)));
                         for (const std::uint32_t word : words) ASSERT_EQ(word, wc->imm_data);
                         ++whole;
                         ASSERT_EQ(post_receive(c, qp, wc->wr_id, {{at, 8192, m.mr->lkey}}), 0);
                       }
                     }}));
  EXPECT_EQ(sent, messages);
  EXPECT_GT(whole, messages / 2);
  EXPECT_LT(whole, messages);
}

struct datagram_case : base_case {
  datagram_case(cpu& thread, node& on) : base_case(thread, on, ud) {
    ibv_ah_attr to{p.address_of(b).lid, 3, 1};
    ah = ibv_create_ah(c, p.pd, &to);
  }
  request to_b(std::uint32_t bytes, std::uint32_t qkey = ud.qkey) const {
    return {.opcode = IBV_WR_SEND, .sges = {{here.addr, bytes, here.mr->lkey}}, .ah = ah, .qpn = b->qp_num, .qkey = qkey};
  }
  ibv_ah* ah;
};

TEST(conformance, ud_puts_40_bytes_before_the_payload) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 4136, t.there.mr->lkey}}), 0);
    const auto room = t.p.bytes(t.there.addr, 40);
    EXPECT_EQ(complete(c, t.a, t.to_b(4096), &t.received).status, IBV_WC_SUCCESS);
    const ibv_wc wc = t.receive_completion();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.byte_len, 4136U);
    EXPECT_EQ(wc.src_qp, t.a->qp_num);
    EXPECT_EQ(wc.slid, t.p.address_of(t.a).lid);
    EXPECT_EQ(wc.sl, 3U);
    EXPECT_EQ(wc.wc_flags & IBV_WC_GRH, 0U);
    EXPECT_EQ(t.p.bytes(t.there.addr, 40), room) << "there was no GRH";
    EXPECT_EQ(t.p.bytes(t.there.addr + 40, 4096), t.p.bytes(t.here.addr, 4096));
  });
}

TEST(conformance, ud_judges_the_q_key) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 200, t.there.mr->lkey}}), 0);
    EXPECT_EQ(complete(c, t.a, t.to_b(64, 5), &t.received).status, IBV_WC_SUCCESS);
    request own = t.to_b(32, 0x80000000);
    EXPECT_EQ(complete(c, t.a, own, &t.received).status, IBV_WC_SUCCESS) << "bit 31: the QP's own Q_Key";
    EXPECT_EQ(t.receive_completion().byte_len, 72U) << "the one with the wrong Q_Key used no receive";
  });
}

TEST(conformance, ud_drops_what_finds_no_receive_or_no_room) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    EXPECT_EQ(complete(c, t.a, t.to_b(64), &t.received).status, IBV_WC_SUCCESS);
    c.spend(20_us);
    ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 100, t.there.mr->lkey}}), 0);
    EXPECT_EQ(complete(c, t.a, t.to_b(61), &t.received).status, IBV_WC_SUCCESS);
    EXPECT_EQ(complete(c, t.a, t.to_b(60), &t.received).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.receive_completion().byte_len, 100U);
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS);
  });
}

std::uint64_t resident_pages() {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

// Whoever sends may name any of 16 million QPs; the adapter keeps nothing of those that it does not have.
TEST(conformance, ud_to_a_qp_that_nobody_started_leaves_no_trace) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 200, t.there.mr->lkey}}), 0);
    EXPECT_EQ(complete(c, t.a, t.to_b(1), &t.received).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.receive_completion().byte_len, 41U);
    ASSERT_EQ(post_receive(c, t.b, 5, {{t.there.addr, 200, t.there.mr->lkey}}), 0);
    const std::uint64_t before = resident_pages();
    for (std::uint32_t i = 0; i < 64; ++i) {
      request r = t.to_b(64);
      r.qpn = 0xfffffe - i * 0x1357;
      ASSERT_EQ(complete(c, t.a, r, &t.received).status, IBV_WC_SUCCESS);
    }
    EXPECT_LT(resident_pages(), before + 4096) << "16 MiB";
    EXPECT_EQ(complete(c, t.a, t.to_b(32), &t.received).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.receive_completion().byte_len, 72U);
  });
}

// So may whoever has a doorbell page.
TEST(conformance, doorbells_of_queues_that_nobody_started_leave_no_trace) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    const std::uint64_t uar = static_cast<const driver::process&>(*t.a->context).uar;
    const std::uint64_t before = resident_pages();
    for (std::uint32_t i = 0; i < 64; ++i) {
      for (const std::uint32_t queue : {HCA_UAR_SQ, HCA_UAR_RQ, HCA_UAR_CQ, HCA_UAR_EQ}) {
        driver::ring(c, uar, queue, 0xfffffe - i * 0x1357, 7);
      }
    }
    c.spend(50_us);
    EXPECT_LT(resident_pages(), before + 4096) << "16 MiB";
    ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 200, t.there.mr->lkey}}), 0);
    EXPECT_EQ(complete(c, t.a, t.to_b(32), &t.received).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.receive_completion().byte_len, 72U);
  });
}

TEST(conformance, ud_takes_sends_of_one_packet_only) {
  run_case([](cpu& c, node& n) {
    datagram_case t(c, n);
    EXPECT_EQ(post(c, t.a, {.opcode = IBV_WR_RDMA_WRITE, .sges = {{t.here.addr, 8, t.here.mr->lkey}}}), EINVAL);
    EXPECT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .sges = {{t.here.addr, 8, t.here.mr->lkey}}}), EINVAL) << "to nobody";
    EXPECT_EQ(complete(c, t.a, t.to_b(4097), &t.received).status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(t.p.state(t.a), IBV_QPS_SQE);
  });
}

// Datagrams of several QPs into one SRQ, one of them inline with immediate data.
TEST(conformance, ud_with_an_srq) {
  run_case([](cpu& c, node& n) {
    process_context p(c, n);
    ibv_srq* srq = create_srq(c, p.pd);
    const region m = p.allocate(8192);
    p.fill(m.addr, 8192, 8);
    qp_options o = ud;
    o.inline_bytes = 64;
    ibv_qp* a = p.create_qp(o);
    o.srq = srq;
    ibv_qp* b = p.create_qp(o);
    ASSERT_EQ(p.connect(a, {}, ud), 0);
    ASSERT_EQ(p.connect(b, {}, ud), 0);
    ibv_ah_attr to{p.address_of(b).lid, 0, 1};
    ibv_ah* ah = ibv_create_ah(c, p.pd, &to);
    ASSERT_EQ(post_receive(c, srq, 8, {{m.addr + 4096, 40, m.mr->lkey}, {m.addr + 6144, 64, m.mr->lkey}}), 0);
    std::vector<ibv_wc> received;
    const request r{.opcode = IBV_WR_SEND_WITH_IMM,
                    .sges = {{m.addr, 50, 0}},
                    .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
                    .immediate = 0x01020304,
                    .ah = ah,
                    .qpn = b->qp_num};
    EXPECT_EQ(complete(c, a, r, &received).status, IBV_WC_SUCCESS);
    const ibv_wc wc = received.empty() ? *next_completion(c, p.cq, 10_ms) : received.front();
    EXPECT_EQ(wc.byte_len, 90U);
    EXPECT_EQ(wc.imm_data, 0x01020304U);
    EXPECT_EQ(p.bytes(m.addr + 6144, 50), p.bytes(m.addr, 50));
  });
}

}  // namespace
}  // namespace hcasim::kit
