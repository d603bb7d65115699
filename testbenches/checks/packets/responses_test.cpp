// Responses without a request, too early ones, and wrong ones, to a requester.
#include <gtest/gtest.h>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/packet_injector.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t begin_psn = 0xfffff0;  // they wrap

struct asking : lone_requester {
  asking(cpu& thread, node& on, packet_injector& f) : lone_requester(thread, on, f, begin_psn) { connect(); }
  std::vector<packet_header> requested(ibv_wr_opcode opcode, std::uint32_t bytes) {
    EXPECT_EQ(ask(opcode, bytes), 0);
    return later();
  }
  std::vector<packet_header> later() { return requests_after(200_us); }
  void put(std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload = 0, std::uint8_t syndrome = wire::ack_no_credits) {
    packet_header h = wire.header(opcode, qp->qp_num, psn, peer_lid);
    h.syndrome = syndrome;
    answer(h, payload, 5_us);
  }
  void expect_waiting() {
    EXPECT_TRUE(completions().empty());
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
  }
  void expect(ibv_wc_status status) {
    const auto wc = next_completion(c, p.cq, 1_ms);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, status);
  }
};

void run_asking(const std::function<void(asking&)>& body) {
  EXPECT_EQ(run_forged(world::two_nodes(),
                       [&](cpu& c, node& n, packet_injector& f) {
                         asking a(c, n, f);
                         body(a);
                       }),
            "");
}

// A message gets its PSNs when its first packet goes: an unsent message cannot be acknowledged.
TEST(responses, an_unsent_message_is_not_acknowledged) {
  run_asking([](asking& a) {
    constexpr std::uint32_t packets = 1024;
    const auto sent = static_cast<std::uint32_t>(a.requested(IBV_WR_RDMA_WRITE, packets * lone_requester::mtu).size());
    ASSERT_LT(sent, packets) << "the window is full";
    for (const std::uint8_t syndrome : {wire::ack_no_credits, wire::nak_remote_access, wire::nak_sequence, wire::rnr_nak}) {
      for (const std::uint32_t psn : {sent, packets - 1}) a.put(wire::acknowledge, begin_psn + psn, 0, syndrome);
    }
    EXPECT_EQ(statistic_of(a.n.hca.requester, "discarded"), 8.0);
    a.expect_waiting();
    EXPECT_EQ(a.later().size(), 0U);
    a.put(wire::acknowledge, begin_psn + sent - 1);
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
      EXPECT_EQ(a.requested(IBV_WR_RDMA_READ, 3 * lone_requester::mtu).size(), 1U);
      std::uint32_t psn = begin_psn;
      for (const std::uint8_t opcode : {r.first, r.second, r.third}) {
        a.put(opcode, psn++, opcode == wire::atomic_acknowledge ? 0 : lone_requester::mtu);
      }
      a.expect(r.status);
      a.connect();
    }
  });
}

TEST(responses, a_read_is_not_acknowledged_and_not_answered_ahead) {
  run_asking([](asking& a) {
    EXPECT_EQ(a.requested(IBV_WR_RDMA_READ, 3 * lone_requester::mtu).size(), 1U);
    a.put(wire::acknowledge, begin_psn + 2);  // the response was lost, then
    a.expect_waiting();
    const auto again = a.later();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].psn, begin_psn);
    a.put(wire::read_last, begin_psn + 2, lone_requester::mtu);
    a.expect_waiting();
    a.put(wire::read_last, begin_psn + 3, lone_requester::mtu);  // a response to nothing
    a.put(wire::atomic_acknowledge, begin_psn - 1);
    a.expect_waiting();
    EXPECT_EQ(a.later().size(), 0U);
    for (std::uint32_t i = 0; i < 3; ++i) {
      a.put(i == 0 ? wire::read_first : i == 1 ? wire::read_middle : wire::read_last, begin_psn + i, lone_requester::mtu);
    }
    a.expect(IBV_WC_SUCCESS);
  });
}

}  // namespace
}  // namespace hcasim::kit
