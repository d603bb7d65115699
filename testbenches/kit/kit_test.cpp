// Every operation, end to end, on one node in loopback and between two nodes.
#include <gtest/gtest.h>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

struct loopback {
  explicit loopback(process_context& p, const qp_options& o = {}) : a(p.create_qp(o)), b(p.create_qp(o)) {
    EXPECT_EQ(p.connect(a, p.address_of(b, o), o), 0);
    EXPECT_EQ(p.connect(b, p.address_of(a, o), o), 0);
  }
  ibv_qp* a;
  ibv_qp* b;
};

TEST(kit, the_adapter_opens) {
  world w;
  int lid = 0;
  ASSERT_TRUE(w.run({[&](cpu&, node& n) { lid = static_cast<int>(n.device().info().port_lid); }}));
  EXPECT_EQ(lid, 1);
}

TEST(kit, write_in_loopback) {
  world w;
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    loopback qps(p);
    const region from = p.allocate(8192);
    const region to = p.allocate(8192);
    p.fill(from.addr, 8192, 3);
    const ibv_wc wc = complete(c, qps.a,
                               {.opcode = IBV_WR_RDMA_WRITE,
                                .id = 7,
                                .sges = {{from.addr, 5000, from.mr->lkey}},
                                .remote = to.addr + 100,
                                .rkey = to.mr->rkey});
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.bytes(to.addr + 100, 5000), p.bytes(from.addr, 5000));
    EXPECT_EQ(p.bytes(to.addr, 100), std::vector<std::uint8_t>(100, 0));
    EXPECT_EQ(p.bytes(to.addr + 5100, 100), std::vector<std::uint8_t>(100, 0));
    EXPECT_TRUE(p.close());
  }}));
}

TEST(kit, read_in_loopback) {
  world w;
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    loopback qps(p);
    const region here = p.allocate(65536);
    const region there = p.allocate(65536);
    p.fill(there.addr, 65536, 9);
    const ibv_wc wc = complete(c, qps.a,
                               {.opcode = IBV_WR_RDMA_READ,
                                .id = 1,
                                .sges = {{here.addr + 3, 60000, here.mr->lkey}},
                                .remote = there.addr + 11,
                                .rkey = there.mr->rkey});
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.bytes(here.addr + 3, 60000), p.bytes(there.addr + 11, 60000));
    EXPECT_TRUE(p.close());
  }}));
}

TEST(kit, send_and_immediate_in_loopback) {
  world w;
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    loopback qps(p);
    const region from = p.allocate(4096);
    const region to = p.allocate(4096);
    p.fill(from.addr, 4096, 1);
    ASSERT_EQ(post_receive(c, qps.b, 50, {{to.addr, 1000, to.mr->lkey}, {to.addr + 2000, 2000, to.mr->lkey}}), 0);
    std::vector<ibv_wc> others;
    const ibv_wc wc =
        complete(c, qps.a,
                 {.opcode = IBV_WR_SEND_WITH_IMM, .id = 1, .sges = {{from.addr, 2500, from.mr->lkey}}, .immediate = 0x12345678},
                 &others);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    if (others.empty()) others.push_back(next_completion(c, p.cq).value());
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(others[0].wr_id, 50U);
    EXPECT_EQ(others[0].opcode, IBV_WC_RECV);
    EXPECT_EQ(others[0].byte_len, 2500U);
    EXPECT_EQ(others[0].imm_data, 0x12345678U);
    EXPECT_EQ(p.bytes(to.addr, 1000), p.bytes(from.addr, 1000));
    EXPECT_EQ(p.bytes(to.addr + 2000, 1500), p.bytes(from.addr + 1000, 1500));
    EXPECT_TRUE(p.close());
  }}));
}

TEST(kit, atomics_in_loopback) {
  world w;
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    loopback qps(p);
    const region here = p.allocate(4096);
    const region there = p.allocate(4096);
    p.store64(there.addr + 8, 40);
    request r{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
              .sges = {{here.addr, 8, here.mr->lkey}},
              .remote = there.addr + 8,
              .rkey = there.mr->rkey,
              .compare_add = 2};
    EXPECT_EQ(complete(c, qps.a, r).status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.load64(here.addr), 40U);
    EXPECT_EQ(p.load64(there.addr + 8), 42U);
    r.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    r.compare_add = 42;
    r.swap = 7;
    EXPECT_EQ(complete(c, qps.a, r).status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.load64(here.addr), 42U);
    EXPECT_EQ(p.load64(there.addr + 8), 7U);
    EXPECT_TRUE(p.close());
  }}));
}

TEST(kit, write_between_two_nodes) {
  world w(world::two_nodes());
  out_of_band<address> to_0, to_1;
  struct offer {
    std::uint64_t addr;
    std::uint32_t rkey;
  };
  out_of_band<offer> offers;
  out_of_band<int> done;
  const auto writer = [&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* qp = p.create_qp();
    to_1.send(c, p.address_of(qp));
    ASSERT_EQ(p.connect(qp, to_0.receive(c)), 0);
    const region from = p.allocate(100000);
    p.fill(from.addr, 100000, 77);
    const offer o = offers.receive(c);
    EXPECT_EQ(complete(c, qp, {.id = 1, .sges = {{from.addr, 100000, from.mr->lkey}}, .remote = o.addr, .rkey = o.rkey}).status,
              IBV_WC_SUCCESS);
    done.send(c, 1);
    EXPECT_TRUE(p.close());
  };
  const auto target = [&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* qp = p.create_qp();
    to_0.send(c, p.address_of(qp));
    ASSERT_EQ(p.connect(qp, to_1.receive(c)), 0);
    const region to = p.allocate(100000);
    offers.send(c, {to.addr, to.mr->rkey});
    done.receive(c);
    p.fill(to.addr + 100000, 0, 0);
    std::vector<std::uint8_t> expected(100000);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::uint8_t>(77 + i * 7 + (i >> 8));
    EXPECT_EQ(p.bytes(to.addr, 100000), expected);
    EXPECT_TRUE(p.close());
  };
  ASSERT_TRUE(w.run({writer, target}));
}

}  // namespace
}  // namespace hcasim::kit
