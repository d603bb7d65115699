// UC: TC-A22, and the text around the table [D.1, D.2, C6.7].
#include "testbenches/checks/conformance/transports/transports.h"
#include "models/driver/device/access.h"
#include "models/driver/objects/objects.h"

namespace hcasim::kit {
namespace {

request write_imm(const base_case& t, std::uint32_t bytes, std::uint32_t key) {
  return {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
          .id = 6,
          .sges = {{t.here.addr, bytes, t.here.mr->lkey}},
          .remote = t.there.addr,
          .rkey = key,
          .immediate = 77};
}

CONFORMANCE(TC_A22) {
  base_case t(c, n, uc);
  const auto before = t.p.bytes(t.there.addr, t.there.length);
  EXPECT_EQ(t.write(t.there.addr, ibv_inc_rkey(t.there.mr->rkey), 3000).status, IBV_WC_SUCCESS) << "there is no answer";
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

// A receive that cannot be written to costs its message and itself; the next message finds the next receive.
void send_to_a_bad_receive(cpu& c, node& n, const qp_options& options, bool goes_on) {
  base_case t(c, n, options);
  ibv_ah_attr route{t.p.address_of(t.b).lid, 0, 1};
  ibv_ah* const ah = options.type == IBV_QPT_UD ? ibv_create_ah(c, t.p.pd, &route) : nullptr;
  const auto message = [&](std::uint64_t id) {
    return request{.opcode = IBV_WR_SEND, .id = id, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .ah = ah, .qpn = t.b->qp_num};
  };
  const std::uint64_t at = t.there.addr;
  ASSERT_EQ(post_receive(c, t.b, 10, {{at, 128, ibv_inc_rkey(t.there.mr->lkey)}}), 0);
  ASSERT_EQ(post_receive(c, t.b, 11, {{at, 128, t.there.mr->lkey}}), 0);
  for (const std::uint64_t id : {1U, 2U}) ASSERT_EQ(complete(c, t.a, message(id), &t.received).status, IBV_WC_SUCCESS);
  const ibv_wc first = t.receive_completion();
  EXPECT_EQ(first.wr_id, 10U);
  EXPECT_EQ(first.status, IBV_WC_LOC_PROT_ERR);
  const ibv_wc second = t.receive_completion();
  EXPECT_EQ(second.wr_id, 11U);
  EXPECT_EQ(second.status, goes_on ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(t.p.state(t.b), goes_on ? IBV_QPS_RTS : IBV_QPS_ERR);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_RTS);
  if (ah) ibv_destroy_ah(c, ah);
}

system_config with_receive_errors() {
  system_config s = world::one_node();
  s.nodes[0].hca.responder.unreliable_receive_error = unreliable_receive_error::error;
  return s;
}

TEST(conformance, uc_drops_what_comes_for_a_bad_receive) {
  run_case([](cpu& c, node& n) { send_to_a_bad_receive(c, n, uc, true); });
}
TEST(conformance, ud_drops_what_comes_for_a_bad_receive) {
  run_case([](cpu& c, node& n) { send_to_a_bad_receive(c, n, ud, true); });
}
TEST(conformance, switch_unreliable_receive_error_of_uc) {
  run_case([](cpu& c, node& n) { send_to_a_bad_receive(c, n, uc, false); }, with_receive_errors());
}
TEST(conformance, switch_unreliable_receive_error_of_ud) {
  run_case([](cpu& c, node& n) { send_to_a_bad_receive(c, n, ud, false); }, with_receive_errors());
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
    // The QP in SQE still receives.
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

// Over a lossy link: no part of a message is reported, and a reported message is whole.
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

// On a slow link, `messages` of 8 KiB go to a peer that answers nothing. None is complete before its last byte is on the wire,
// and each is soon afterwards.
void sends_complete_on_the_wire(ibv_qp_type type) {
  system_config slow = world::two_nodes();
  slow.link.rate = bit_rate{1e9};
  slow.link.buffer = 0;
  world w(slow);
  const auto body = [type](cpu& c, node& n) {
    process_context p(c, n);
    const region m = p.allocate(8192);
    qp_options o{.type = type};
    o.mtu = IBV_MTU_4096;
    ibv_qp* qp = p.create_qp(o);
    address to = p.address_of(qp);
    to.lid = static_cast<std::uint16_t>(to.lid + 1);
    ASSERT_EQ(p.connect(qp, to, o), 0);
    ibv_ah_attr route{to.lid, 0, 1};
    ibv_ah* const ah = type == IBV_QPT_UD ? ibv_create_ah(c, p.pd, &route) : nullptr;
    const std::uint32_t bytes = ah ? 4096 : 8192;
    constexpr std::uint64_t messages = 16;
    const request send{.opcode = IBV_WR_SEND, .sges = {{m.addr, bytes, m.mr->lkey}}, .ah = ah, .qpn = 9, .qkey = 1};
    c.sync();
    const ps begin = c.time();
    for (std::uint64_t i = 0; i < messages; ++i) ASSERT_EQ(post(c, qp, send), 0);
    for (std::uint64_t i = 1; i <= messages; ++i) {
      const auto wc = next_completion(c, p.cq, 10_ms);
      ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
      const ps payload{static_cast<std::int64_t>(i * bytes * 8000)};
      EXPECT_GE(c.time() - begin, payload);
      EXPECT_LT(c.time() - begin, payload * 102 / 100 + 20_us);
    }
    if (ah) ibv_destroy_ah(c, ah);
  };
  ASSERT_TRUE(w.run({body, [](cpu&, node&) {}}));
}

TEST(conformance, uc_completes_when_its_last_byte_is_on_the_wire) {
  sends_complete_on_the_wire(IBV_QPT_UC);
}
TEST(conformance, ud_completes_when_its_last_byte_is_on_the_wire) {
  sends_complete_on_the_wire(IBV_QPT_UD);
}

// Packets on their way out when their QP is reset, or in error, belong to no QP later. The QP begins anew at once, and every
// request of its new life completes once.
TEST(conformance, a_reset_leaves_packets_on_their_way_out) {
  system_config slow = world::two_nodes();
  slow.link.rate = bit_rate{1e9};
  world w(slow);
  const auto body = [](cpu& c, node& n) {
    process_context p(c, n);
    const region m = p.allocate(8192);
    qp_options o = uc;
    o.mtu = IBV_MTU_4096;
    ibv_qp* qp = p.create_qp(o);
    address to = p.address_of(qp);
    to.lid = static_cast<std::uint16_t>(to.lid + 1);
    for (std::uint64_t life = 0; life < 8; ++life) {
      ASSERT_EQ(p.connect(qp, to, o), 0);
      const request send{.opcode = IBV_WR_SEND, .id = life, .sges = {{m.addr, 8192, m.mr->lkey}}};
      for (int i = 0; i < 4; ++i) ASSERT_EQ(post(c, qp, send), 0);
      if (life % 2 == 0) {
        c.spend(ps(static_cast<std::int64_t>(life) * 10'000'000));
        c.sync();
        ASSERT_EQ(p.reset(qp), 0);
        continue;
      }
      if (life % 4 == 1) {
        ibv_qp_attr error{};
        error.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(ibv_modify_qp(c, qp, &error, IBV_QP_STATE), 0);
      }
      for (int i = 0; i < 4; ++i) {
        const auto wc = next_completion(c, p.cq, 10_ms);
        ASSERT_TRUE(wc);
        EXPECT_EQ(wc->wr_id, life);
        EXPECT_EQ(wc->status, life % 4 == 1 ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
      }
      EXPECT_FALSE(next_completion(c, p.cq, 1_ms));
      ASSERT_EQ(p.reset(qp), 0);
    }
  };
  ASSERT_TRUE(w.run({body, [](cpu&, node&) {}}));
}

}  // namespace
}  // namespace hcasim::kit
