// UD, and objects that were never started [D.1, D.2].
#include <fstream>

#include "models/driver/device/access.h"
#include "models/driver/objects/objects.h"
#include "testbenches/checks/conformance/transports/transports.h"

namespace hcasim::kit {
namespace {

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

// A sender may name any of 16 million QPs; the adapter keeps no state for unknown ones.
TEST(conformance, ud_to_a_qp_that_was_never_started_leaves_no_trace) {
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

// A process with a doorbell page may name any queue, too; the adapter keeps no state for it.
TEST(conformance, doorbells_of_queues_that_were_never_started_leave_no_trace) {
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
    EXPECT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .sges = {{t.here.addr, 8, t.here.mr->lkey}}}), EINVAL)
        << "without an address";
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
