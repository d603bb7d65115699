// Group TC-M: memory regions.
#include <algorithm>

#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {
namespace {

void expect_refused(process_context& p, std::uint64_t addr, std::uint64_t length, int access, int error) {
  const std::uint64_t pinned = p.memory.pinned_bytes();
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(p.c, p.pd, addr, length, access), nullptr);
  EXPECT_EQ(errno, error);
  EXPECT_EQ(p.memory.pinned_bytes(), pinned) << "pages stayed pinned";
}

CONFORMANCE(TC_M01) {
  process_context p(c, n);
  expect_refused(p, p.memory.allocate(4096), 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL);
}

CONFORMANCE(TC_M02) {
  process_context p(c, n);
  expect_refused(p, p.memory.allocate(4096), 4096, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
}

CONFORMANCE(TC_M03) {
  process_context p(c, n);
  const std::uint64_t at = p.memory.allocate(4096);
  expect_refused(p, at, 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 15, EINVAL);
  EXPECT_NE(ibv_reg_mr(c, p.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 25), nullptr);
}

CONFORMANCE(TC_M04) {
  process_context p(c, n);
  expect_refused(p, ~0ULL - 100, 4096, IBV_ACCESS_LOCAL_WRITE, EINVAL);
}

CONFORMANCE(TC_M05) {
  process_context p(c, n);
  const std::uint64_t at = p.memory.allocate(4096);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr_iova(c, p.pd, at, 4096, 0x10001000 + 1, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// Registering nothing, by each value of the switch zero_length_mr.
void zero_length(driver::zero_length_policy policy, bool aligned_accepted, bool unaligned_accepted) {
  system_config config = world::one_node();
  config.nodes[0].driver.zero_length_mr = policy;
  run_case(
      [&](cpu& c, node& n) {
        process_context p(c, n);
        const std::uint64_t at = p.memory.allocate(4096);
        EXPECT_EQ(ibv_reg_mr(c, p.pd, at, 0, IBV_ACCESS_LOCAL_WRITE) != nullptr, aligned_accepted);
        EXPECT_EQ(ibv_reg_mr(c, p.pd, at + 5, 0, IBV_ACCESS_LOCAL_WRITE) != nullptr, unaligned_accepted);
      },
      config);
}

TEST(conformance, TC_M06_accept) {
  zero_length(driver::zero_length_policy::accept, true, true);
}
TEST(conformance, TC_M06_page_count) {
  zero_length(driver::zero_length_policy::page_count, false, true);
}
TEST(conformance, TC_M06_refuse) {
  zero_length(driver::zero_length_policy::refuse, false, false);
}

CONFORMANCE(TC_M07) {
  process_context p(c, n);
  const std::uint64_t at = p.memory.allocate(4096, page_policy::scattered, 0, false);
  EXPECT_NE(ibv_reg_mr(c, p.pd, at, 4096, 0), nullptr);
  const std::uint64_t pinned = p.memory.pinned_bytes();
  EXPECT_EQ(ibv_reg_mr(c, p.pd, at, 4096, IBV_ACCESS_MW_BIND), nullptr);
  EXPECT_TRUE(errno == EACCES || errno == EFAULT);
  EXPECT_EQ(p.memory.pinned_bytes(), pinned);
}

CONFORMANCE(TC_M08) {
  process_context p(c, n);
  ibv_mr bogus{};
  bogus.context = p.context;
  bogus.pd = p.pd;
  bogus.handle = 0x7fffffff;
  EXPECT_EQ(ibv_dereg_mr(c, &bogus), ENOENT);
}

CONFORMANCE(TC_M09) {
  process_context p(c, n);
  ibv_pd* pd = ibv_alloc_pd(c, p.context);
  const std::uint64_t at = p.memory.allocate(4096);
  ibv_mr* mr = ibv_reg_mr(c, pd, at, 4096, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(ibv_dealloc_pd(c, pd), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  ibv_qp* qp = p.create_qp({}, pd);
  EXPECT_EQ(ibv_dealloc_pd(c, pd), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
  ibv_mw* mw = ibv_alloc_mw(c, pd, IBV_MW_TYPE_1);
  EXPECT_EQ(ibv_dealloc_pd(c, pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(ibv_dealloc_pd(c, pd), 0);
}

CONFORMANCE(TC_M10) {
  base_case t(c, n);
  EXPECT_EQ(post_receive(c, t.b, 9, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
  EXPECT_FALSE(next_completion(c, t.p.cq, 100_us).has_value());
}

CONFORMANCE(TC_M11) {
  base_case t(c, n);
  const auto before = t.p.bytes(t.there.addr, 64);
  EXPECT_EQ(post_receive(c, t.b, 9, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(wc.wr_id, 9U);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), before);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
}

// READs stream into a region that goes away: those before succeed, one fails, the rest is flushed, and nothing is written
// after the de-registration has returned.
CONFORMANCE(TC_M12) {
  base_case t(c, n);
  const region landing = t.p.allocate(65536, IBV_ACCESS_LOCAL_WRITE);
  constexpr std::uint64_t count = 32;
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(post(c, t.a,
                   {.opcode = IBV_WR_RDMA_READ,
                    .id = i,
                    .sges = {{landing.addr + i % 4 * 16384, 16384, landing.mr->lkey}},
                    .remote = t.there.addr,
                    .rkey = t.there.mr->rkey}),
              0);
  }
  const auto first = next_completion(c, t.p.cq);
  ASSERT_TRUE(first && first->status == IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(c, landing.mr), 0);
  const auto after = t.p.bytes(landing.addr, landing.length);
  std::vector<ibv_wc_status> order;
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto wc = next_completion(c, t.p.cq);
    ASSERT_TRUE(wc.has_value()) << i;
    EXPECT_EQ(wc->wr_id, i);
    order.push_back(wc->status);
  }
  const auto bad = std::find(order.begin(), order.end(), IBV_WC_LOC_PROT_ERR);
  ASSERT_NE(bad, order.end());
  EXPECT_TRUE(std::all_of(order.begin(), bad, [](ibv_wc_status s) { return s == IBV_WC_SUCCESS; }));
  EXPECT_TRUE(std::all_of(bad + 1, order.end(), [](ibv_wc_status s) { return s == IBV_WC_WR_FLUSH_ERR; }));
  EXPECT_EQ(t.p.bytes(landing.addr, landing.length), after) << "bytes landed after the de-registration";
}

CONFORMANCE(TC_M14) {
  base_case t(c, n);
  const std::uint64_t at = t.p.memory.allocate(8192);
  ibv_mr* mr = ibv_reg_mr_iova(c, t.p.pd, at, 8192, 0, all_rights);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(t.write(5000, mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(at + 5000, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_M17) {
  base_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  const region foreign = t.p.allocate(4096, all_rights, page_policy::scattered, other);
  for (const ibv_wr_opcode op :
       {IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    if (op == IBV_WR_SEND) {
      EXPECT_EQ(post_receive(c, t.b, 1, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
    }
    const request r{.opcode = op,
                    .id = 70,
                    .sges = {{foreign.addr, 8, foreign.mr->lkey}},
                    .remote = t.there.addr,
                    .rkey = t.there.mr->rkey};
    EXPECT_EQ(complete(c, t.a, r).status, IBV_WC_LOC_PROT_ERR) << op;
    EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
    t.reconnect();
  }
}

CONFORMANCE(TC_M18) {
  base_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  const region foreign = t.p.allocate(4096, all_rights, page_policy::scattered, other);
  EXPECT_EQ(post_receive(c, t.b, 1, {{foreign.addr, 64, foreign.mr->lkey}}), 0);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(t.p.bytes(foreign.addr, 64), std::vector<std::uint8_t>(64, 0));
}

CONFORMANCE(TC_M19) {
  base_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  const region f = t.p.allocate(4096, all_rights, page_policy::scattered, other);
  t.expect_denied([&] { return t.read(f.addr, f.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, f.addr);
  t.expect_denied([&] { return t.write(f.addr, f.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, f.addr);
  t.expect_denied([&] { return t.add(f.addr, f.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, f.addr);
  t.expect_denied([&] { return t.swap(f.addr, f.mr->rkey, 0, 7); }, IBV_WC_REM_ACCESS_ERR, f.addr);
}

// 256 registrations and de-registrations from eight threads at once.
TEST(conformance, TC_M22) {
  world w;
  std::size_t finished = 0;
  std::vector<std::uint32_t> keys;
  for (int thread = 0; thread < 8; ++thread) {
    start_program(w.sys(), 0, "thread" + std::to_string(thread), [&](cpu& c, node& n) {
      // The first thread opens the adapter; the others wait for it.
      while (!n.device().opened()) {
        c.spend(100_us);
        c.sync();
      }
      process_context p(c, n);
      std::vector<ibv_mr*> mine;
      for (int i = 0; i < 32; ++i) {
        mine.push_back(p.allocate(4096).mr);
        keys.push_back(mine.back()->rkey >> 8);
      }
      for (ibv_mr* mr : mine) EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
      EXPECT_TRUE(p.close());
      ++finished;
    });
    if (thread == 0) {
      sc_core::sc_start(to_sc(50_ms));
      ASSERT_TRUE(w.at(0).device().opened());
    }
  }
  sc_core::sc_start();
  EXPECT_EQ(finished, 8U);
  EXPECT_EQ(keys.size(), 256U);
  EXPECT_EQ(w.at(0).hca.command_unit.usage().mrs, 0U);
}

CONFORMANCE(TC_M23) {
  base_case t(c, n);
  const std::uint64_t at = t.p.memory.allocate(4096);
  ibv_mr* reads = ibv_reg_mr(c, t.p.pd, at, 4096, IBV_ACCESS_REMOTE_READ);
  ibv_mr* writes = ibv_reg_mr(c, t.p.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_mr* neither = ibv_reg_mr(c, t.p.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(t.read(at, reads->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.write(at, writes->rkey).status, IBV_WC_SUCCESS);
  t.expect_denied([&] { return t.write(at, reads->rkey); }, IBV_WC_REM_ACCESS_ERR, at);
  t.expect_denied([&] { return t.read(at, writes->rkey); }, IBV_WC_REM_ACCESS_ERR, at);
  t.expect_denied([&] { return t.read(at, neither->rkey); }, IBV_WC_REM_ACCESS_ERR, at);
}

}  // namespace
}  // namespace hcasim::kit
