// What comes back to a requester that it did not ask for, or not yet, or not like that.
#include <gtest/gtest.h>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/forger.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint16_t peer_lid = 2;
constexpr std::uint32_t packet_bytes = 1024;
constexpr std::uint32_t begin_psn = 0xfffff0;  // they wrap

struct asking {
  asking(cpu& thread, node& on, forger& f) : p(thread, on), c(thread), n(on), wire(f), here(p.allocate(1 << 20)) {
    options.timeout = 0;
    options.psn = begin_psn;
    qp = p.create_qp(options);
    EXPECT_EQ(p.connect(qp, {peer_lid, 0x777, 0x10}, options), 0);
  }
  std::vector<packet_header> ask(ibv_wr_opcode opcode, std::uint32_t bytes) {
    EXPECT_EQ(
        post(c, qp,
             {.opcode = opcode, .id = ++asked, .sges = {{here.addr, bytes, here.mr->lkey}}, .remote = 0x1000, .rkey = 0x100}),
        0);
    return later();
  }
  std::vector<packet_header> later() {
    c.spend(200_us);
    c.sync();
    return wire.requests();
  }
  void answer(std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload = 0, std::uint8_t syndrome = wire::ack_no_credits) {
    packet_header h = wire.header(opcode, qp->qp_num, psn, peer_lid);
    h.syndrome = syndrome;
    wire.put(h, payload);
    c.spend(5_us);
    c.sync();
  }
  void expect_waiting() {
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(c, p.cq, 1, &wc), 0);
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
  }
  void expect(ibv_wc_status status) {
    const auto wc = next_completion(c, p.cq, 1_ms);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, status);
  }

  process_context p;
  cpu& c;
  node& n;
  forger& wire;
  qp_options options;
  region here;
  ibv_qp* qp;
  std::uint64_t asked = 0;
};

void run_asking(const std::function<void(asking&)>& body) {
  world w(world::two_nodes());
  forger f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    asking a(c, n, f);
    body(a);
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

// A message has its PSNs when its first packet goes: what was not sent cannot have arrived.
TEST(responses, what_was_not_sent_is_not_acknowledged) {
  run_asking([](asking& a) {
    constexpr std::uint32_t packets = 1024;
    const auto sent = static_cast<std::uint32_t>(a.ask(IBV_WR_RDMA_WRITE, packets * packet_bytes).size());
    ASSERT_LT(sent, packets) << "the window is full";
    for (const std::uint8_t syndrome : {wire::ack_no_credits, wire::nak_remote_access, wire::nak_sequence, wire::rnr_nak}) {
      for (const std::uint32_t psn : {sent, packets - 1}) a.answer(wire::acknowledge, begin_psn + psn, 0, syndrome);
    }
    EXPECT_EQ(statistic_of(a.n.hca.requester, "discarded"), 8.0);
    a.expect_waiting();
    EXPECT_EQ(a.later().size(), 0U);
    a.answer(wire::acknowledge, begin_psn + sent - 1);
    EXPECT_EQ(a.later().size(), sent) << "and goes on";
  });
}

TEST(responses, of_a_read_end_where_it_ends) {
  struct row {
    std::uint8_t first, second, third;
    ibv_wc_status status;
  };
  static constexpr row rows[] = {
      {wire::read_first, wire::read_middle, wire::read_last, IBV_WC_SUCCESS},
      {wire::read_first, wire::read_first, wire::read_last, IBV_WC_SUCCESS},  // the second from a repetition
      {wire::read_first, wire::read_middle, wire::read_only, IBV_WC_SUCCESS},
      {wire::read_only, wire::read_middle, wire::read_last, IBV_WC_BAD_RESP_ERR},
      {wire::read_first, wire::read_last, wire::read_last, IBV_WC_BAD_RESP_ERR},
      {wire::read_first, wire::read_middle, wire::read_middle, IBV_WC_BAD_RESP_ERR},
      {wire::read_first, wire::atomic_acknowledge, wire::read_last, IBV_WC_BAD_RESP_ERR},
  };
  run_asking([](asking& a) {
    for (const row& r : rows) {
      EXPECT_EQ(a.ask(IBV_WR_RDMA_READ, 3 * packet_bytes).size(), 1U);
      std::uint32_t psn = begin_psn;
      for (const std::uint8_t opcode : {r.first, r.second, r.third}) {
        a.answer(opcode, psn++, opcode == wire::atomic_acknowledge ? 0 : packet_bytes);
      }
      a.expect(r.status);
      ASSERT_EQ(a.p.reset(a.qp), 0);
      ASSERT_EQ(a.p.connect(a.qp, {peer_lid, 0x777, 0x10}, a.options), 0);
    }
  });
}

TEST(responses, a_read_is_not_acknowledged_and_not_answered_ahead) {
  run_asking([](asking& a) {
    EXPECT_EQ(a.ask(IBV_WR_RDMA_READ, 3 * packet_bytes).size(), 1U);
    a.answer(wire::acknowledge, begin_psn + 2);  // the response was lost, then
    a.expect_waiting();
    const auto again = a.later();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].psn, begin_psn);
    a.answer(wire::read_last, begin_psn + 2, packet_bytes);
    a.expect_waiting();
    a.answer(wire::read_last, begin_psn + 3, packet_bytes);  // of nothing
    a.answer(wire::atomic_acknowledge, begin_psn - 1);
    a.expect_waiting();
    EXPECT_EQ(a.later().size(), 0U);
    for (std::uint32_t i = 0; i < 3; ++i) {
      a.answer(i == 0 ? wire::read_first : i == 1 ? wire::read_middle : wire::read_last, begin_psn + i, packet_bytes);
    }
    a.expect(IBV_WC_SUCCESS);
  });
}

}  // namespace
}  // namespace hcasim::kit
