// Group TC-H: extended reliable connections [H7..H11].
#include <cstring>

#include "models/driver/objects/objects.h"
#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/packet_injector.h"

namespace hcasim::kit {
namespace {

inline constexpr qp_options initiator{.type = IBV_QPT_XRC_SEND};
inline constexpr qp_options target{.type = IBV_QPT_XRC_RECV};

// A connection whose target takes receives from SRQs, each with its own PD and CQ.
struct shared_end {
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;
  std::uint32_t number = 0;
  region room;
};

struct xrc_case {
  explicit xrc_case(cpu& thread, node& on) : p(thread, on), c(thread), here(p.allocate(16384)) {
    const ibv_xrcd_init_attr attr{0, true, false};
    xrcd = ibv_open_xrcd(c, p.context, &attr);
    for (shared_end& e : ends) e = make_end(xrcd);
    a = p.create_qp(initiator);
    b = make_target(xrcd);
    EXPECT_EQ(p.connect(a, p.address_of(b), initiator), 0);
    EXPECT_EQ(p.connect(b, p.address_of(a), target), 0);
    p.fill(here.addr, here.length, 1);
  }

  ibv_qp* make_target(ibv_xrcd* in) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.xrcd = in;
    return ibv_create_qp_ex(c, p.context, &init);
  }
  shared_end make_end(ibv_xrcd* in) {
    shared_end e;
    e.pd = ibv_alloc_pd(c, p.context);
    e.cq = ibv_create_cq(c, p.context, 64, nullptr, nullptr, 0);
    ibv_srq_init_attr_ex init{};
    init.attr = {16, 2, 0};
    init.srq_type = IBV_SRQT_XRC;
    init.pd = e.pd;
    init.xrcd = in;
    init.cq = e.cq;
    e.srq = ibv_create_srq_ex(c, p.context, &init);
    EXPECT_NE(e.srq, nullptr);
    EXPECT_EQ(ibv_get_srq_num(e.srq, &e.number), 0);
    e.room = p.allocate(16384, all_rights, page_policy::scattered, e.pd);
    p.fill(e.room.addr, e.room.length, 99);
    return e;
  }
  void reconnect() {
    for (ibv_qp* qp : {a, b}) EXPECT_EQ(p.reset(qp), 0);
    EXPECT_EQ(p.connect(a, p.address_of(b), initiator), 0);
    EXPECT_EQ(p.connect(b, p.address_of(a), target), 0);
  }
  ibv_wc send(std::uint32_t srqn, std::uint32_t bytes) {
    return complete(c, a, {.opcode = IBV_WR_SEND, .sges = {{here.addr, bytes, here.mr->lkey}}, .srqn = srqn});
  }
  ibv_wc rdma(ibv_wr_opcode op, std::uint32_t srqn, const region& r, std::uint32_t bytes, std::uint64_t at = 0) {
    return complete(c, a,
                    {.opcode = op,
                     .sges = {{here.addr + 8192, bytes, here.mr->lkey}},
                     .remote = r.addr + at,
                     .rkey = r.mr->rkey,
                     .compare_add = 1,
                     .srqn = srqn});
  }

  process_context p;
  cpu& c;
  region here;
  ibv_xrcd* xrcd = nullptr;
  std::array<shared_end, 2> ends{};
  ibv_qp* a = nullptr;
  ibv_qp* b = nullptr;
};

// One connection, two SRQs: each request names an SRQ, whose PD judges and whose CQ completes.
CONFORMANCE(TC_H11) {
  xrc_case t(c, n);
  for (int round = 0; round < 3; ++round) {
    for (const shared_end& e : t.ends) {
      ASSERT_EQ(post_receive(c, e.srq, 7, {{e.room.addr, 4096, e.room.mr->lkey}}), 0);
      const std::uint32_t bytes = round == 1 ? 3000 : 100;  // several packets, or one
      EXPECT_EQ(t.send(e.number, bytes).status, IBV_WC_SUCCESS);
      const auto wc = next_completion(c, e.cq, 1_ms);
      ASSERT_TRUE(wc);
      EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
      EXPECT_EQ(wc->wr_id, 7U);
      EXPECT_EQ(wc->byte_len, bytes);
      EXPECT_EQ(wc->qp_num, t.b->qp_num);
      EXPECT_EQ(wc->src_qp, t.a->qp_num);
      EXPECT_EQ(t.p.bytes(e.room.addr, bytes), t.p.bytes(t.here.addr, bytes));
    }
  }
  for (const shared_end& e : t.ends) EXPECT_FALSE(next_completion(c, e.cq, 20_us));
}

// RDMA and atomics: the key must be of the PD of the SRQ that the request names.
CONFORMANCE(TC_H12) {
  xrc_case t(c, n);
  const auto& [first, second] = t.ends;
  EXPECT_EQ(t.rdma(IBV_WR_RDMA_WRITE, first.number, first.room, 5000).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(first.room.addr, 5000), t.p.bytes(t.here.addr + 8192, 5000));
  EXPECT_EQ(t.rdma(IBV_WR_RDMA_READ, second.number, second.room, 5000).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(second.room.addr, 5000), t.p.bytes(t.here.addr + 8192, 5000));
  const std::uint64_t before = t.p.load64(first.room.addr + 8);
  EXPECT_EQ(t.rdma(IBV_WR_ATOMIC_FETCH_AND_ADD, first.number, first.room, 8, 8).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(first.room.addr + 8), before + 1);
  for (const ibv_wr_opcode op : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    const auto memory = t.p.bytes(first.room.addr, 64);
    EXPECT_EQ(t.rdma(op, second.number, first.room, 8).status, IBV_WC_REM_ACCESS_ERR) << "of another SRQ's PD";
    EXPECT_EQ(t.p.bytes(first.room.addr, 64), memory);
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
    t.reconnect();
  }
  // A receive of a key of another PD is a bad receive.
  ASSERT_EQ(post_receive(c, first.srq, 3, {{second.room.addr, 4096, second.room.mr->lkey}}), 0);
  EXPECT_EQ(t.send(first.number, 64).status, IBV_WC_REM_OP_ERR);
  const auto wc = next_completion(c, first.cq, 1_ms);
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->status, IBV_WC_LOC_PROT_ERR);
}

// Wrong SRQs: of another domain, a basic one, one that never existed, and a destroyed one.
CONFORMANCE(TC_H13) {
  xrc_case t(c, n);
  const ibv_xrcd_init_attr attr{0, true, false};
  ibv_xrcd* elsewhere = ibv_open_xrcd(c, t.p.context, &attr);
  const shared_end foreign = t.make_end(elsewhere);
  ibv_srq* basic = create_srq(c, t.p.pd);
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(basic, &number), EINVAL);
  const std::uint32_t basic_number = static_cast<driver::shared_queue*>(basic)->number;
  const std::uint32_t bad[] = {foreign.number, basic_number, t.a->qp_num, 0, 0xffffff};
  for (const std::uint32_t srqn : bad) {
    EXPECT_EQ(t.send(srqn, 64).status, IBV_WC_REM_ACCESS_ERR) << srqn;
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
    t.reconnect();
    EXPECT_EQ(t.rdma(IBV_WR_RDMA_WRITE, srqn, t.ends[0].room, 64).status, IBV_WC_REM_ACCESS_ERR) << srqn;
    t.reconnect();
  }
  EXPECT_EQ(statistic_of(n.hca.responder, "wrong_domain"), 10.0);
  EXPECT_EQ(ibv_destroy_srq(c, t.ends[1].srq), 0);
  EXPECT_EQ(t.send(t.ends[1].number, 64).status, IBV_WC_REM_ACCESS_ERR);
  t.reconnect();
  ASSERT_EQ(post_receive(c, t.ends[0].srq, 1, {{t.ends[0].room.addr, 64, t.ends[0].room.mr->lkey}}), 0);
  EXPECT_EQ(t.send(t.ends[0].number, 64).status, IBV_WC_SUCCESS);
}

// The refusals of the verbs, the sharing of a domain and a target QP, and the objects that are busy meanwhile.
CONFORMANCE(TC_H14) {
  process_context p(c, n);
  const ibv_xrcd_init_attr wants{77, false, false};
  EXPECT_EQ(ibv_open_xrcd(c, p.context, &wants), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  const ibv_xrcd_init_attr makes{77, true, true};
  ibv_xrcd* first = ibv_open_xrcd(c, p.context, &makes);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ibv_open_xrcd(c, p.context, &makes), nullptr) << "exclusively";
  process_context q(c, n);
  ibv_xrcd* second = ibv_open_xrcd(c, q.context, &wants);
  ASSERT_NE(second, nullptr);

  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  EXPECT_EQ(ibv_create_qp_ex(c, p.context, &init), nullptr) << "without a domain";
  init.xrcd = first;
  ibv_qp* b = ibv_create_qp_ex(c, p.context, &init);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(ibv_close_xrcd(c, first), EBUSY);
  const ibv_qp_open_attr open{second, b->qp_num, nullptr};
  ibv_qp* same = ibv_open_qp(c, q.context, &open);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->qp_num, b->qp_num);
  const ibv_qp_open_attr wrong{second, b->qp_num + 1, nullptr};
  EXPECT_EQ(ibv_open_qp(c, q.context, &wrong), nullptr);
  EXPECT_EQ(kit::connect(c, b, {1, 0x77, 0x10}, target), 0);
  EXPECT_EQ(same->state, IBV_QPS_RTS) << "it is the same QP";
  EXPECT_EQ(post_receive(c, b, 1, {}), EINVAL);
  EXPECT_EQ(post(c, b, {.opcode = IBV_WR_SEND}), EINVAL);
  // The maker leaves; the other process still has it.
  EXPECT_EQ(ibv_destroy_qp(c, b), 0);
  EXPECT_EQ(ibv_close_xrcd(c, first), 0);
  EXPECT_EQ(q.state(same), IBV_QPS_RTS);
  EXPECT_EQ(ibv_destroy_qp(c, same), 0);
  EXPECT_EQ(ibv_close_xrcd(c, second), 0);
  EXPECT_EQ(ibv_open_xrcd(c, p.context, &wants), nullptr) << "the domain has gone";

  ibv_qp* a = p.create_qp(initiator);
  ASSERT_EQ(kit::connect(c, a, {1, 0x77, 0x10}, initiator), 0);
  EXPECT_EQ(post_receive(c, a, 1, {}), EINVAL) << "it only sends";
  EXPECT_EQ(post(c, a, {.opcode = IBV_WR_SEND, .srqn = 1U << 24}), EINVAL);
}

// A receiver without a receive, and a target destroyed while it holds a receive: the SRQ gets the receive back.
CONFORMANCE(TC_H15) {
  xrc_case t(c, n);
  const shared_end& e = t.ends[0];
  ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .srqn = e.number}), 0);
  c.spend(50_us);
  c.sync();
  EXPECT_GT(statistic_of(n.hca.responder, "rnr_naks"), 0.0);
  ASSERT_EQ(post_receive(c, e.srq, 3, {{e.room.addr, 64, e.room.mr->lkey}}), 0);
  EXPECT_EQ(next_completion(c, t.p.cq, 10_ms)->status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(c, e.cq, 1_ms)->wr_id, 3U);
  for (std::uint64_t i = 0; i < 40; ++i) {  // more than the SRQ has
    ASSERT_EQ(post_receive(c, e.srq, i, {{e.room.addr, 8, e.room.mr->lkey}}), 0);
    EXPECT_EQ(t.send(e.number, 64).status, IBV_WC_REM_INV_REQ_ERR) << "too long for the receive";
    const auto wc = next_completion(c, e.cq, 1_ms);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_LOC_LEN_ERR);
    t.reconnect();
  }
}

// XRC packets at other QPs, others at a target, and packets of one message that name two SRQs.
TEST(conformance, TC_H16) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    const ibv_xrcd_init_attr attr{0, true, false};
    ibv_xrcd* xrcd = ibv_open_xrcd(c, p.context, &attr);
    ibv_cq* cq = ibv_create_cq(c, p.context, 64, nullptr, nullptr, 0);
    std::array<std::uint32_t, 2> numbers{};
    const region room = p.allocate(8192);
    for (std::uint32_t& number : numbers) {
      ibv_srq_init_attr_ex init{};
      init.attr = {16, 2, 0};
      init.srq_type = IBV_SRQT_XRC;
      init.pd = p.pd;
      init.xrcd = xrcd;
      init.cq = cq;
      ibv_srq* srq = ibv_create_srq_ex(c, p.context, &init);
      ASSERT_EQ(ibv_get_srq_num(srq, &number), 0);
      ASSERT_EQ(post_receive(c, srq, number, {{room.addr, 4096, room.mr->lkey}}), 0);
    }
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.xrcd = xrcd;
    ibv_qp* const b = ibv_create_qp_ex(c, p.context, &init);
    ibv_qp* const rc = p.create_qp();
    ibv_qp* const a = p.create_qp(initiator);
    for (ibv_qp* qp : {b, rc, a}) {
      qp_options o;
      o.type = qp->qp_type;
      ASSERT_EQ(kit::connect(c, qp, {2, 0x777, 0x10}, o), 0);
    }
    c.sync();
    const auto put = [&](std::uint8_t opcode, const ibv_qp* qp, std::uint32_t psn, std::uint32_t srqn, std::uint32_t bytes) {
      packet_header h = f.header(opcode, qp->qp_num, psn, 2);
      h.srqn = srqn;
      h.ack_request = true;
      f.put(h, bytes);
      c.spend(20_us);
      c.sync();
      return f.answers();
    };
    EXPECT_TRUE(put(wire::xrc | wire::send_only, rc, 0x10, numbers[0], 64).empty());
    EXPECT_TRUE(put(wire::xrc | wire::send_only, a, 0x10, numbers[0], 64).empty());
    EXPECT_TRUE(put(wire::send_only, a, 0x10, 0, 64).empty());
    EXPECT_TRUE(put(wire::send_only, b, 0x10, 0, 64).empty());
    EXPECT_TRUE(put(wire::uc | wire::send_only, b, 0x10, 0, 64).empty());
    EXPECT_EQ(p.state(b), IBV_QPS_RTS);
    EXPECT_EQ(p.state(rc), IBV_QPS_RTS);
    EXPECT_EQ(statistic_of(n.hca.responder, "dropped"), 5.0);

    const auto ack = put(wire::xrc | wire::send_only, b, 0x10, numbers[0], 64);
    ASSERT_EQ(ack.size(), 1U);
    EXPECT_EQ(ack[0].opcode, wire::xrc | wire::acknowledge);
    EXPECT_EQ(ack[0].syndrome, wire::ack_no_credits);
    EXPECT_EQ(next_completion(c, cq, 1_ms)->wr_id, numbers[0]);
    EXPECT_EQ(put(wire::xrc | wire::send_first, b, 0x11, numbers[1], 1024).size(), 1U);
    const auto nak = put(wire::xrc | wire::send_last, b, 0x12, numbers[0], 64);
    ASSERT_EQ(nak.size(), 1U);
    EXPECT_EQ(nak[0].syndrome, wire::nak_remote_access);
    EXPECT_EQ(p.state(b), IBV_QPS_ERR);
    const auto wc = next_completion(c, cq, 1_ms);
    ASSERT_TRUE(wc) << "the receive that the message had taken";
    EXPECT_EQ(wc->wr_id, numbers[1]);
    EXPECT_NE(wc->status, IBV_WC_SUCCESS);
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

// An SRQ ends in the middle of a message, and so does its CQ; others get their numbers. The rest of the message is not theirs.
TEST(conformance, TC_H17) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    const ibv_xrcd_init_attr attr{0, true, false};
    ibv_xrcd* const xrcd = ibv_open_xrcd(c, p.context, &attr);
    ibv_pd* const foreign = ibv_alloc_pd(c, p.context);
    const region room = p.allocate(8192);
    const region others = p.allocate(8192, all_rights, page_policy::scattered, foreign);
    const auto make = [&](ibv_pd* pd, ibv_cq* cq, std::uint32_t& number) {
      ibv_srq_init_attr_ex init{};
      init.attr = {16, 2, 0};
      init.srq_type = IBV_SRQT_XRC;
      init.pd = pd;
      init.xrcd = xrcd;
      init.cq = cq;
      ibv_srq* const srq = ibv_create_srq_ex(c, p.context, &init);
      EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
      return srq;
    };
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.xrcd = xrcd;
    ibv_qp* const b = ibv_create_qp_ex(c, p.context, &init);
    const auto put = [&](std::uint8_t opcode, std::uint32_t psn, std::uint32_t srqn, std::uint32_t bytes) {
      packet_header h = f.header(wire::xrc | opcode, b->qp_num, psn, 2);
      h.srqn = srqn;
      h.ack_request = true;
      h.va = room.addr;
      h.rkey = room.mr->rkey;
      h.dma_length = 2048;
      f.put(h, bytes);
      c.spend(20_us);
      c.sync();
      const std::vector<packet_header> answers = f.answers();
      return answers.empty() ? std::uint8_t{0} : answers.back().syndrome;
    };
    for (const bool send : {false, true}) {
      SCOPED_TRACE(send ? "SEND" : "WRITE");
      ibv_cq* cq = ibv_create_cq(c, p.context, 16, nullptr, nullptr, 0);
      std::uint32_t number = 0;
      std::uint32_t reborn = 0;
      ibv_srq* srq = make(p.pd, cq, number);
      ASSERT_EQ(post_receive(c, srq, 1, {{room.addr, 4096, room.mr->lkey}}), 0);
      ASSERT_EQ(p.reset(b), 0);
      ASSERT_EQ(p.connect(b, {2, 0x777, 0x10}, target), 0);
      c.sync();
      EXPECT_EQ(put(send ? wire::send_first : wire::write_first, 0x10, number, 1024), wire::ack_no_credits);
      ASSERT_EQ(ibv_destroy_srq(c, srq), 0);
      const std::uint32_t before = cq->handle;
      ASSERT_EQ(ibv_destroy_cq(c, cq), 0);
      for (cq = ibv_create_cq(c, p.context, 16, nullptr, nullptr, 0); cq->handle != before;) {
        ASSERT_EQ(ibv_destroy_cq(c, cq), 0);
        cq = ibv_create_cq(c, p.context, 16, nullptr, nullptr, 0);
      }
      for (srq = make(foreign, cq, reborn); reborn != number; srq = make(foreign, cq, reborn))
        ASSERT_EQ(ibv_destroy_srq(c, srq), 0);
      ASSERT_EQ(post_receive(c, srq, 2, {{others.addr, 4096, others.mr->lkey}}), 0);
      p.fill(room.addr, room.length, 3);
      const auto ours = p.bytes(room.addr, 4096);
      const auto theirs = p.bytes(others.addr, 4096);
      EXPECT_EQ(put(send ? wire::send_last : wire::write_last_imm, 0x11, number, 1024), wire::nak_remote_access);
      EXPECT_EQ(p.bytes(room.addr, 4096), ours);
      EXPECT_EQ(p.bytes(others.addr, 4096), theirs);
      EXPECT_EQ(p.state(b), IBV_QPS_ERR);
      EXPECT_FALSE(next_completion(c, cq, 100_us)) << "of a receive that was another SRQ's";
      ibv_async_event e{};
      ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0) << "since no completion tells of the error";
      EXPECT_EQ(e.event_type, IBV_EVENT_QP_ACCESS_ERR);
      EXPECT_EQ(e.element.qp, b);
      ibv_ack_async_event(&e);
      ASSERT_EQ(ibv_destroy_srq(c, srq), 0);
      ASSERT_EQ(ibv_destroy_cq(c, cq), 0);
    }
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

}  // namespace
}  // namespace hcasim::kit
