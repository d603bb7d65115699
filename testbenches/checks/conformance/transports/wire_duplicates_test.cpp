// Group TC-D: requests with old PSNs. An executed request is answered again, and no other [D2, O8d].
#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/packet_injector.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t mtu = 1024;
constexpr std::uint32_t read_bytes = 3 * mtu + 100;

// QP a has executed a READ of four packets at QP b, with PSNs 0x10 to 0x13; a 64 B WRITE 0x14 followed. Later packets are
// forged in the name of a.
struct old_case : base_case {
  old_case(cpu& thread, node& n, packet_injector& f, const qp_options& o = {}) : base_case(thread, n, o), wire(f), on(n) {}

  void use() {
    EXPECT_EQ(read(there.addr + 8, there.mr->rkey, read_bytes).status, IBV_WC_SUCCESS);
    EXPECT_EQ(write(there.addr + 8192, there.mr->rkey).status, IBV_WC_SUCCESS);
    settle();
  }
  void settle() {
    c.spend(30_us);
    c.sync();
    wire.answers();
    wire.requests();
  }
  [[nodiscard]] packet_header read_again(std::uint32_t psn, std::uint64_t offset, std::uint32_t bytes) const {
    packet_header h = wire.header(wire::read_request, b->qp_num, psn, 1);
    h.va = there.addr + 8 + offset;
    h.rkey = there.mr->rkey;
    h.dma_length = bytes;
    return h;
  }
  std::vector<packet_header> answers_to(const packet_header& h, std::uint32_t payload = 0) {
    c.sync();
    wire.put(h, payload);
    c.spend(30_us);
    c.sync();
    return wire.answers();
  }
  void expect_nothing(const packet_header& h, const char* why) {
    const double unknown = statistic_of(on.hca.responder, "duplicates_unknown");
    EXPECT_EQ(answers_to(h).size(), 0U) << why;
    EXPECT_EQ(statistic_of(on.hca.responder, "duplicates_unknown"), unknown + 1) << why;
  }
  void expect_healthy() {
    EXPECT_EQ(p.state(a), IBV_QPS_RTS);
    EXPECT_EQ(p.state(b), IBV_QPS_RTS);
    EXPECT_EQ(write(there.addr, there.mr->rkey).status, IBV_WC_SUCCESS);
  }

  packet_injector& wire;
  node& on;
};

void run_forged(const std::function<void(cpu&, node&, packet_injector&)>& body) {
  EXPECT_EQ(kit::run_forged(world::one_node(), body), "");
}

TEST(conformance, TC_D01) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f, {.access = IBV_ACCESS_REMOTE_WRITE});
    t.settle();
    for (const std::uint32_t psn : {0x0fU, 0U, 0xffffffU, 0x800010U}) {
      t.expect_nothing(t.read_again(psn, 0, 64), "no right, and never ran");
    }
    t.expect_healthy();
  });
}

TEST(conformance, TC_D02) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f, {.read_depth = 0});
    EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    t.settle();
    t.expect_nothing(t.read_again(0x10, 0, 64), "there are no READs on this QP");
    packet_header add = f.header(wire::fetch_add, t.b->qp_num, 0x10, 1);
    add.va = t.there.addr;
    add.rkey = t.there.mr->rkey;
    add.swap_add = 1;
    t.expect_nothing(add, "and no atomics");
    t.expect_healthy();
  });
}

TEST(conformance, TC_D03) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    const region other = t.p.allocate(16384);
    t.use();
    t.expect_nothing(t.read_again(0x0f, 0, read_bytes), "before the first");
    t.expect_nothing(t.read_again(0x14, 0, 64), "the PSN of a WRITE");
    t.expect_nothing(t.read_again(0x10, 8, read_bytes - 8), "another VA");
    t.expect_nothing(t.read_again(0x11, 0, read_bytes), "the VA of another response");
    t.expect_nothing(t.read_again(0x10, 0, read_bytes + 1), "longer than it was");
    t.expect_nothing(t.read_again(0x12, 2 * mtu, 2 * mtu), "longer than what is left of it");
    t.expect_nothing(t.read_again(0x10, 0, 0x80000001), "longer than a message");
    t.expect_nothing(t.read_again(0x12, 2 * mtu, 0), "nothing of something");
    packet_header h = t.read_again(0x10, 0, read_bytes);
    h.rkey = other.mr->rkey;
    t.expect_nothing(h, "another key");
    h.rkey = t.there.mr->rkey ^ 1;
    t.expect_nothing(h, "another key byte");
    EXPECT_EQ(statistic_of(n.hca.responder, "naks"), 0.0);
    t.expect_healthy();
  });
}

TEST(conformance, TC_D04) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    t.use();
    for (std::uint32_t first = 0; first < 4; ++first) {
      const auto got = t.answers_to(t.read_again(0x10 + first, first * mtu, read_bytes - first * mtu));
      ASSERT_EQ(got.size(), 4 - first);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].psn, 0x10 + first + i);
        EXPECT_EQ(got[i].opcode, i + 1 == got.size() ? (i == 0 ? wire::read_only : wire::read_last)
                                 : i == 0            ? wire::read_first
                                                     : wire::read_middle);
      }
    }
    EXPECT_EQ(t.answers_to(t.read_again(0x11, mtu, mtu)).size(), 1U) << "one response of it";
    t.expect_healthy();
  });
}

TEST(conformance, TC_D05) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f, {.read_depth = 4});
    t.use();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(t.read(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    t.settle();
    EXPECT_EQ(t.answers_to(t.read_again(0x10, 0, read_bytes)).size(), 4U) << "one of the last four";
    EXPECT_EQ(t.add(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    t.settle();
    t.expect_nothing(t.read_again(0x10, 0, read_bytes), "one of the last five: the requester cannot wait for it any more");
    t.expect_healthy();
  });
}

TEST(conformance, TC_D06) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    const region lent = t.p.allocate(4096);
    const std::uint32_t key = lent.mr->rkey;
    EXPECT_EQ(t.read(lent.addr, key, 2048).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(c, lent.mr), 0);
    EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    t.settle();
    packet_header h = t.read_again(0x10, 0, 2048);
    h.va = lent.addr;
    h.rkey = key;
    const auto got = t.answers_to(h);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].opcode, wire::acknowledge);
    EXPECT_EQ(got[0].syndrome, wire::nak_remote_access);
    EXPECT_EQ(got[0].psn, 0x10U) << "the requester that waits for this READ is told, and no other";
    t.expect_healthy();
  });
}

TEST(conformance, TC_D07) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    t.use();
    ibv_qp_attr less{};
    less.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    ASSERT_EQ(ibv_modify_qp(c, t.b, &less, IBV_QP_ACCESS_FLAGS), 0);
    t.settle();
    const auto got = t.answers_to(t.read_again(0x10, 0, read_bytes));
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].syndrome, wire::nak_invalid_request);
    EXPECT_EQ(got[0].psn, 0x10U);
    t.expect_healthy();
  });
}

TEST(conformance, TC_D08) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    t.p.store64(t.there.addr, 5);
    EXPECT_EQ(t.add(t.there.addr, t.there.mr->rkey, 3).status, IBV_WC_SUCCESS);
    t.settle();
    packet_header h = f.header(wire::fetch_add, t.b->qp_num, 0x10, 1);
    h.va = t.there.addr;
    h.rkey = t.there.mr->rkey;
    h.swap_add = 3;
    const auto got = t.answers_to(h);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].opcode, wire::atomic_acknowledge);
    EXPECT_EQ(got[0].original, 5U);
    h.va += 8;
    t.expect_nothing(h, "another VA");
    h.va -= 8;
    h.rkey ^= 1;
    t.expect_nothing(h, "another key");
    h.rkey ^= 1;
    h.opcode = wire::compare_swap;
    t.expect_nothing(h, "another operation");
    EXPECT_EQ(t.p.load64(t.there.addr), 8U) << "once";
    t.expect_healthy();
  });
}

TEST(conformance, TC_D09) {
  run_forged([](cpu& c, node& n, packet_injector& f) {
    old_case t(c, n, f);
    ASSERT_EQ(post_receive(c, t.b, 7, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
    EXPECT_EQ(t.send(64).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.write(t.there.addr + 4096, t.there.mr->rkey).status, IBV_WC_SUCCESS);
    t.settle();
    const auto before = t.p.bytes(t.there.addr, t.there.length);
    packet_header h = f.header(wire::write_only, t.b->qp_num, 0x11, 1);
    h.va = t.there.addr;
    h.rkey = t.there.mr->rkey;
    h.dma_length = 64;
    for (const std::uint8_t opcode : {wire::send_only, wire::write_only, wire::send_middle}) {
      h.opcode = opcode;
      const auto got = t.answers_to(h, 64);
      ASSERT_EQ(got.size(), 1U) << int{opcode};
      EXPECT_EQ(got[0].opcode, wire::acknowledge);
      EXPECT_EQ(got[0].syndrome, wire::ack_no_credits);
      EXPECT_EQ(got[0].psn, 0x11U) << "the last that was executed";
    }
    EXPECT_EQ(t.p.bytes(t.there.addr, t.there.length), before);
    t.expect_healthy();
  });
}

// The requester's half: a NAK of the first response that is missing, of the READ and of its repetition.
void refused_read(bool repeated) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    const qp_options o{.timeout = 8};
    ibv_qp* qp = p.create_qp(o);
    const region here = p.allocate(8192);
    ASSERT_EQ(p.connect(qp, {2, 0x777, 0x10}, o), 0);
    ASSERT_EQ(
        post(
            c, qp,
            {.opcode = IBV_WR_RDMA_READ, .id = 1, .sges = {{here.addr, 3000, here.mr->lkey}}, .remote = 0x1000, .rkey = 0x100}),
        0);
    c.spend(20_us);
    c.sync();
    ASSERT_EQ(f.requests().size(), 1U);
    f.put(f.header(wire::read_first, qp->qp_num, 0x10, 2), mtu);
    c.spend(repeated ? 1500_us : 10_us);
    c.sync();
    const auto asked = f.requests();
    ASSERT_EQ(asked.empty(), !repeated);
    for (const packet_header& h : asked) EXPECT_EQ(h.psn, 0x11U) << "from the first that is missing";
    packet_header nak = f.header(wire::acknowledge, qp->qp_num, 0x13, 2);
    nak.syndrome = wire::nak_remote_access;
    f.put(nak);  // with a PSN that was not sent
    c.spend(5_us);
    c.sync();
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
    nak.psn = 0x11;
    f.put(nak);
    const auto wc = next_completion(c, p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_REM_ACCESS_ERR);
  }}));
}

TEST(conformance, TC_D10) {
  refused_read(false);
}

TEST(conformance, TC_D10_of_the_repetition) {
  refused_read(true);
}

}  // namespace
}  // namespace hcasim::kit
