// Group TC-A: what a request may do, and what a failing one leaves behind [D.1, D.2].
#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {
namespace {

// The rights of the QPs, not of the region, are missing [D4].
void expect_invalid_request(cpu& c, node& n, unsigned qp_access, const std::function<ibv_wc(base_case&)>& request) {
  base_case t(c, n, {.access = qp_access});
  t.expect_denied([&] { return request(t); }, IBV_WC_REM_INV_REQ_ERR, t.there.addr);
}

CONFORMANCE(TC_A01) {
  expect_invalid_request(c, n, IBV_ACCESS_REMOTE_READ, [](base_case& t) { return t.write(t.there.addr, t.there.mr->rkey); });
}

CONFORMANCE(TC_A02) {
  expect_invalid_request(c, n, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
                         [](base_case& t) { return t.add(t.there.addr, t.there.mr->rkey); });
}

CONFORMANCE(TC_A04) {
  base_case t(c, n);
  EXPECT_EQ(complete(c, t.a, {.opcode = IBV_WR_RDMA_READ, .id = 2, .sges = {}, .remote = 1, .rkey = 0xdeadbeef}).status,
            IBV_WC_SUCCESS);
}

CONFORMANCE(TC_A06) {
  expect_invalid_request(c, n, IBV_ACCESS_REMOTE_READ, [](base_case& t) {
    return complete(t.c, t.a, {.id = 1, .sges = {}, .remote = t.there.addr, .rkey = t.there.mr->rkey});
  });
}

CONFORMANCE(TC_A07) {
  base_case t(c, n);
  const std::uint64_t begin = t.there.addr;
  const std::uint64_t end = begin + t.there.length;
  const std::uint32_t key = t.there.mr->rkey;
  t.expect_denied([&] { return t.read(begin - 1, key); }, IBV_WC_REM_ACCESS_ERR, begin, t.there.length);
  t.expect_denied([&] { return t.read(end - 63, key); }, IBV_WC_REM_ACCESS_ERR, begin, t.there.length);
  t.expect_denied([&] { return t.write(begin - 1, key); }, IBV_WC_REM_ACCESS_ERR, begin, t.there.length);
  t.expect_denied([&] { return t.write(end - 63, key); }, IBV_WC_REM_ACCESS_ERR, begin, t.there.length);
  t.expect_denied([&] { return t.write(end - 4096, key, 4097); }, IBV_WC_REM_ACCESS_ERR, begin, t.there.length);
  EXPECT_EQ(t.write(end - 64, key).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.read(begin, key).status, IBV_WC_SUCCESS);
}

request write_imm(const base_case& t, std::uint32_t key) {
  return {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
          .id = 6,
          .sges = {{t.here.addr, 64, t.here.mr->lkey}},
          .remote = t.there.addr,
          .rkey = key,
          .immediate = 5};
}

CONFORMANCE(TC_A09) {
  base_case t(c, n);
  ASSERT_EQ(post_receive(c, t.b, 4, {}), 0);
  const auto before = t.p.bytes(t.there.addr, 64);
  EXPECT_EQ(complete(c, t.a, write_imm(t, ibv_inc_rkey(t.there.mr->rkey)), &t.received).status, IBV_WC_REM_ACCESS_ERR);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.wr_id, 4U);
  EXPECT_TRUE(wc.status == IBV_WC_LOC_ACCESS_ERR || wc.status == IBV_WC_LOC_PROT_ERR) << wc.status;
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), before);
}

CONFORMANCE(TC_A10) {
  base_case t(c, n, {.rnr_retry = 0});
  EXPECT_EQ(complete(c, t.a, write_imm(t, ibv_inc_rkey(t.there.mr->rkey))).status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS) << "the key was not looked at";
}

CONFORMANCE(TC_A11) {
  base_case t(c, n);
  t.expect_denied([&] { return t.add(t.there.addr + 4, t.there.mr->rkey); }, IBV_WC_REM_INV_REQ_ERR, t.there.addr);
}

CONFORMANCE(TC_A12) {
  base_case t(c, n);
  t.expect_denied([&] { return t.add(t.there.addr + 4, ibv_inc_rkey(t.there.mr->rkey)); }, IBV_WC_REM_INV_REQ_ERR,
                  t.there.addr);
}

TEST(conformance, TC_A12_switch_atomic_align_first) {
  system_config s = world::one_node();
  s.nodes[0].hca.responder.atomic_align_first = false;
  run_case(
      [](cpu& c, node& n) {
        base_case t(c, n);
        const std::uint32_t bad = ibv_inc_rkey(t.there.mr->rkey);
        t.expect_denied([&] { return t.add(t.there.addr + 4, bad); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
        t.expect_denied([&] { return t.add(t.there.addr + 4, t.there.mr->rkey); }, IBV_WC_REM_INV_REQ_ERR, t.there.addr);
      },
      s);
}

request with_bad_local_key(const base_case& t, ibv_wr_opcode opcode, std::uint32_t rkey) {
  return {.opcode = opcode,
          .id = 7,
          .sges = {{t.here.addr, 64, ibv_inc_rkey(t.here.mr->lkey)}},
          .remote = t.there.addr,
          .rkey = rkey};
}

CONFORMANCE(TC_A13) {
  base_case t(c, n);
  const request r = with_bad_local_key(t, IBV_WR_RDMA_READ, ibv_inc_rkey(t.there.mr->rkey));
  t.expect_denied([&] { return complete(c, t.a, r); }, IBV_WC_REM_ACCESS_ERR, t.here.addr);
}

CONFORMANCE(TC_A14) {
  base_case t(c, n);
  const request r = with_bad_local_key(t, IBV_WR_RDMA_WRITE, ibv_inc_rkey(t.there.mr->rkey));
  t.expect_denied_here([&] { return complete(c, t.a, r); }, IBV_WC_LOC_PROT_ERR, t.there.addr);
}

CONFORMANCE(TC_A15) {
  base_case t(c, n);
  const region source = t.p.allocate(4096, 0);
  const auto from_source = [&](ibv_wr_opcode opcode, std::uint32_t bytes) {
    return request{.opcode = opcode,
                   .id = 7,
                   .sges = {{source.addr, bytes, source.mr->lkey}},
                   .remote = t.there.addr,
                   .rkey = t.there.mr->rkey};
  };
  // The responder has done its part when the landing fails, so only the requester's QP is in error.
  t.expect_denied_here([&] { return complete(c, t.a, from_source(IBV_WR_RDMA_READ, 64)); }, IBV_WC_LOC_PROT_ERR, source.addr);
  t.expect_denied_here([&] { return complete(c, t.a, from_source(IBV_WR_ATOMIC_FETCH_AND_ADD, 8)); }, IBV_WC_LOC_PROT_ERR,
                       source.addr);
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, t.a, from_source(IBV_WR_SEND, 64), &t.received).status, IBV_WC_SUCCESS);
  EXPECT_EQ(complete(c, t.a, from_source(IBV_WR_RDMA_WRITE, 64), &t.received).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), t.p.bytes(source.addr, 64));
}

CONFORMANCE(TC_A16) {
  base_case t(c, n);
  const region sink = t.p.allocate(4096, 0);
  ASSERT_EQ(post_receive(c, t.b, 4, {{sink.addr, 64, sink.mr->lkey}}), 0);
  const auto before = t.p.bytes(sink.addr, 64);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(t.p.bytes(sink.addr, 64), before);
}

CONFORMANCE(TC_A17) {
  base_case t(c, n);
  const region sink = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_EQ(post_receive(c, t.b, 4, {{sink.addr, 64, sink.mr->lkey}}), 0);
  EXPECT_EQ(t.send().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(sink.addr, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_A18) {
  base_case t(c, n);
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 63, t.there.mr->lkey}}), 0);
  EXPECT_EQ(t.send(64).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
}

CONFORMANCE(TC_A19) {
  base_case t(c, n, {.inline_bytes = 64});
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  const auto posted = t.p.bytes(t.here.addr, 64);
  ASSERT_EQ(post(c, t.a,
                 {.opcode = IBV_WR_SEND,
                  .id = 5,
                  .sges = {{t.here.addr, 64, 0x12345678}},
                  .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE}),
            0);
  t.p.fill(t.here.addr, 64, 200);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), posted);
}

CONFORMANCE(TC_A20) {
  base_case t(c, n);
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(
      complete(c, t.a,
               {.opcode = IBV_WR_SEND,
                .id = 5,
                .sges = {{t.here.addr, 32, t.here.mr->lkey}, {1, 0, 0xbadbad00}, {t.here.addr + 32, 32, t.here.mr->lkey}}},
               &t.received)
          .status,
      IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_A21) {
  base_case t(c, n);
  EXPECT_EQ(t.read(t.there.addr, ibv_inc_rkey(t.there.mr->rkey)).status, IBV_WC_REM_ACCESS_ERR);
  const auto before = t.p.bytes(t.there.addr, 64);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), before);
  EXPECT_FALSE(next_completion(c, t.p.cq, 1_ms));
}

CONFORMANCE(TC_A24) {
  base_case t(c, n);
  for (std::uint64_t id = 0; id < 8; ++id) {
    const std::uint32_t key = id == 2 ? ibv_inc_rkey(t.there.mr->rkey) : t.there.mr->rkey;
    ASSERT_EQ(post(c, t.a, {.id = id, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .remote = t.there.addr, .rkey = key}), 0);
  }
  for (std::uint64_t id = 0; id < 8; ++id) {
    const auto wc = next_completion(c, t.p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, id);
    EXPECT_EQ(wc->status, id < 2 ? IBV_WC_SUCCESS : id == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
  }
}

CONFORMANCE(TC_A25) {
  base_case t(c, n);
  const region r = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  t.p.store64(r.addr, 10);
  EXPECT_EQ(t.swap(r.addr, r.mr->rkey, 10, 20).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(t.here.addr), 10U);
  EXPECT_EQ(t.p.load64(r.addr), 20U);
  EXPECT_EQ(t.swap(r.addr, r.mr->rkey, 10, 30).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(t.here.addr), 20U);
  EXPECT_EQ(t.p.load64(r.addr), 20U);
  t.p.store64(r.addr, ~0ULL);
  EXPECT_EQ(t.add(r.addr, r.mr->rkey, 3).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(t.here.addr), ~0ULL);
  EXPECT_EQ(t.p.load64(r.addr), 2U);
}

CONFORMANCE(TC_A26) {
  base_case t(c, n);
  for (const std::uint32_t bytes : {4U, 9U}) {
    EXPECT_EQ(post(c, t.a,
                   {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                    .id = 3,
                    .sges = {{t.here.addr, bytes, t.here.mr->lkey}},
                    .remote = t.there.addr,
                    .rkey = t.there.mr->rkey,
                    .compare_add = 1}),
              EINVAL);
  }
}

CONFORMANCE(TC_A27) {
  process_context p(c, n);
  ibv_qp* a = p.create_qp();
  ibv_qp* b = p.create_qp();
  const region r = p.allocate(4096);
  ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
  ASSERT_EQ(p.connect(b, p.address_of(a), {.read_depth = 0}), 0);
  EXPECT_EQ(
      complete(c, a,
               {.opcode = IBV_WR_RDMA_READ, .id = 1, .sges = {{r.addr, 8, r.mr->lkey}}, .remote = r.addr, .rkey = r.mr->rkey})
          .status,
      IBV_WC_REM_INV_REQ_ERR);
}

}  // namespace
}  // namespace hcasim::kit
