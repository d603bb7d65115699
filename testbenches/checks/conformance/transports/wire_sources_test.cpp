// Group TC-A: the source of a packet [D1].
#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/packet_injector.h"

namespace hcasim::kit {
namespace {

constexpr std::uint16_t peer = 2;
constexpr std::uint16_t other_lid = 3;

// A QP connected to an absent one of LID 2: every incoming packet is forged.
void run_alone(const qp_options& o,
               const std::function<void(cpu&, node&, packet_injector&, process_context&, ibv_qp*, region)>& body) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* const qp = p.create_qp(o);
    const region there = p.allocate(8192);
    p.fill(there.addr, there.length, 7);
    ASSERT_EQ(p.connect(qp, {peer, 0x777, 0x10}, o), 0);
    c.sync();
    body(c, n, f, p, qp, there);
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

// Whether the next WRITE, as `make` changed it, was executed.
bool written(cpu& c, packet_injector& f, process_context& p, ibv_qp* qp, const region& there, std::uint8_t opcode,
             const std::function<void(packet_header&)>& change) {
  const auto before = p.bytes(there.addr, 64);
  packet_header h = f.header(opcode, qp->qp_num, 0x10, peer);
  h.va = there.addr;
  h.rkey = there.mr->rkey;
  h.dma_length = 64;
  change(h);
  f.put(h, 64);
  c.spend(20_us);
  c.sync();
  return p.bytes(there.addr, 64) != before;
}

void hears_its_peer_only(const qp_options& o, std::uint8_t opcode) {
  run_alone(o, [opcode](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    EXPECT_FALSE(written(c, f, p, qp, there, opcode, [](packet_header& h) { h.source_lid = other_lid; }));
    EXPECT_EQ(statistic_of(n.hca.responder, "wrong_source"), 1.0);
    EXPECT_TRUE(f.answers().empty());
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
    EXPECT_TRUE(written(c, f, p, qp, there, opcode, [](packet_header&) {}));
  });
}

TEST(conformance, TC_A28) {
  hears_its_peer_only({}, wire::write_only);
}

TEST(conformance, TC_A28_unreliable) {
  hears_its_peer_only(uc, wire::uc | wire::write_only);
}

TEST(conformance, TC_A29) {
  run_alone({}, [](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    for (const unsigned pkey : {0x8001U, 0xfffeU, 0x0000U, 0x7ffeU}) {
      EXPECT_FALSE(written(c, f, p, qp, there, wire::write_only,
                           [pkey](packet_header& h) { h.pkey = static_cast<std::uint16_t>(pkey); }));
    }
    EXPECT_EQ(statistic_of(n.hca.port, "dropped_bad_pkey"), 4.0);
    EXPECT_TRUE(f.answers().empty());
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
    EXPECT_TRUE(written(c, f, p, qp, there, wire::write_only, [](packet_header& h) { h.pkey = 0x7fff; }));
  });
}

TEST(conformance, TC_A30) {
  run_alone({.timeout = 0}, [](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    ASSERT_EQ(post(c, qp, {.id = 1, .sges = {{there.addr, 64, there.mr->lkey}}, .remote = 0x1000, .rkey = 0x100}), 0);
    c.spend(20_us);
    c.sync();
    ASSERT_EQ(f.requests().size(), 1U);
    packet_header answer = f.header(wire::acknowledge, qp->qp_num, 0x10, other_lid);
    for (const std::uint8_t syndrome : {wire::ack_no_credits, wire::nak_remote_access, wire::nak_sequence}) {
      answer.syndrome = syndrome;
      f.put(answer);
    }
    c.spend(20_us);
    c.sync();
    EXPECT_EQ(statistic_of(n.hca.requester, "discarded"), 3.0);
    EXPECT_EQ(statistic_of(n.hca.requester, "go_backs"), 0.0);
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
    answer.source_lid = peer;
    answer.syndrome = wire::ack_no_credits;
    f.put(answer);
    const auto wc = next_completion(c, p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  });
}

TEST(conformance, TC_A31) {
  run_alone(ud, [](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    ASSERT_EQ(post_receive(c, qp, 1, {{there.addr, 4096, there.mr->lkey}}), 0);
    c.sync();
    packet_header h = f.header(wire::ud | wire::send_only, qp->qp_num, 0x33, other_lid);
    h.source_qpn = 5;
    h.qkey = 0x11111112;
    f.put(h, 64);
    c.spend(20_us);
    c.sync();
    EXPECT_EQ(statistic_of(n.hca.responder, "bad_qkey"), 1.0);
    h.qkey = 0x11111111;
    f.put(h, 64);
    const auto wc = next_completion(c, p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->byte_len, 64U + 40);
    EXPECT_EQ(wc->slid, other_lid);
  });
}

}  // namespace
}  // namespace hcasim::kit
