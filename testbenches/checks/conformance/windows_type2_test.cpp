// Group TC-V: type 2 memory windows [C.1 to C.5].
#include "testbenches/checks/conformance/window.h"
#include "testbenches/kit/counters.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(TC_V01) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  t.expect_no_read(t.there.addr, mw->rkey);
  const ibv_wc wc = t.on_b(mw, mw->rkey + 1, t.piece(0, 4096));
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
  t.expect_reads(t.there.addr, mw->rkey);
  EXPECT_EQ(t.write(t.there.addr + 4096 - 64, mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.add(t.there.addr, mw->rkey).status, IBV_WC_SUCCESS);
  t.expect_no_read(t.there.addr + 4096 - 63, mw->rkey);
  t.expect_no_read(t.there.addr - 1, mw->rkey);
}

CONFORMANCE(a_window_says_what_it_is_bound_to) {
  window_case t(c, n);
  hcax_mw_attr is{};
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    ibv_mw* mw = t.window(type);
    ASSERT_EQ(hcax_query_mw(c, mw, &is), 0);
    EXPECT_EQ(is.type, type);
    EXPECT_FALSE(is.bound);
    EXPECT_EQ(is.rkey, mw->rkey);
    EXPECT_EQ(is.length, 0U);
    const auto what = t.piece(100, 5000, IBV_ACCESS_REMOTE_READ);
    ASSERT_EQ((type == IBV_MW_TYPE_1 ? t.on_b_type_1(mw, what) : t.on_b(mw, mw->rkey + 7, what)).status, IBV_WC_SUCCESS);
    const std::uint32_t key = mw->rkey;
    mw->rkey = ibv_inc_rkey(key);  // the consumer has lost count
    ASSERT_EQ(hcax_query_mw(c, mw, &is), 0);
    EXPECT_TRUE(is.bound);
    EXPECT_EQ(is.rkey, key);
    EXPECT_EQ(is.lkey, t.there.mr->lkey);
    EXPECT_EQ(is.addr, t.there.addr + 100);
    EXPECT_EQ(is.length, 5000U);
    EXPECT_EQ(is.access, unsigned{IBV_ACCESS_REMOTE_READ});
    EXPECT_EQ(is.qp_num, type == IBV_MW_TYPE_1 ? 0U : t.b->qp_num);
    mw->rkey = key;
    if (type == IBV_MW_TYPE_2) {
      ASSERT_EQ(t.invalidate_on_b(key).status, IBV_WC_SUCCESS);
      ASSERT_EQ(hcax_query_mw(c, mw, &is), 0);
      EXPECT_FALSE(is.bound);
      ASSERT_EQ(t.on_b(mw, key + 1, {t.there.mr, t.there.addr + 64, 64, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED}).status,
                IBV_WC_SUCCESS);
      ASSERT_EQ(hcax_query_mw(c, mw, &is), 0);
      EXPECT_EQ(is.addr, 0U);
    }
  }
  ibv_mw stranger{t.p.context, t.p.pd, t.there.mr->rkey, 999, IBV_MW_TYPE_2};
  EXPECT_EQ(hcax_query_mw(c, &stranger, &is), ENOENT);
}

// A program may write to the keys in its structs: what is destroyed is the object itself, and no other that the keys name.
CONFORMANCE(what_is_destroyed_is_not_what_the_keys_name) {
  window_case t(c, n);
  ibv_mw* other = t.bound();
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  mw->rkey = other->rkey;
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  t.expect_reads(t.there.addr, other->rkey);
  ibv_mr* mr = ibv_reg_mr(c, t.p.pd, t.p.memory.allocate(4096), 4096, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  mr->lkey = mr->rkey = t.there.mr->lkey;
  EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, 0), 0);
  mr->lkey = mr->rkey = t.there.mr->lkey;
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  t.expect_reads(t.there.addr, t.there.mr->rkey);
}

CONFORMANCE(TC_V02) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  t.expect_refused(t.on_b(mw, mw->rkey, t.piece(0, 4096)));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, t.piece(0, 4096)));
  EXPECT_EQ(kit::bind(c, t.a, mw, mw->rkey + 1, t.piece(0, 4096)).status, IBV_WC_MW_BIND_ERR);
  t.reconnect();
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V03) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(mw, mw->rkey + 1, t.piece(0, 0)));
}

CONFORMANCE(TC_V04) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ibv_mw_bind request{.wr_id = 1, .send_flags = 0, .bind_info = t.piece(0, 4096)};
  EXPECT_EQ(ibv_bind_mw(c, t.b, mw, &request), EINVAL);
}

// Requests of QP a arrive at QP b, and the window is tied to QP a.
CONFORMANCE(TC_V05) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(kit::bind(c, t.a, mw, mw->rkey + 1, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V07) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  const unsigned zero_based = window_rights | IBV_ACCESS_ZERO_BASED;
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, t.there.addr + t.there.length, 4096, zero_based}));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, 0, 4096, zero_based}));
  ASSERT_EQ(t.on_b(mw, mw->rkey + 1, t.piece(100, 4096, zero_based)).status, IBV_WC_SUCCESS);
  t.expect_reads(0, mw->rkey);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr + 100, 64));
  t.expect_reads(4096 - 64, mw->rkey);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr + 100 + 4096 - 64, 64));
  t.expect_no_read(4096 - 63, mw->rkey);
  t.expect_no_read(t.there.addr + 100, mw->rkey);
}

CONFORMANCE(TC_V08) {
  window_case t(c, n);
  const region r = t.p.allocate(4096, all_rights & ~IBV_ACCESS_MW_BIND);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, 0}));
}

CONFORMANCE(TC_V09) {
  window_case t(c, n);
  const region r = t.p.allocate(4096, IBV_ACCESS_MW_BIND);
  ibv_mw* none = t.window(IBV_MW_TYPE_2);
  ibv_mw* reads = t.window(IBV_MW_TYPE_2);
  EXPECT_EQ(t.on_b(none, none->rkey + 1, {r.mr, r.addr, 4096, 0}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.on_b(reads, reads->rkey + 1, {r.mr, r.addr, 4096, IBV_ACCESS_REMOTE_READ}).status, IBV_WC_SUCCESS);
  t.expect_reads(r.addr, reads->rkey);
}

CONFORMANCE(TC_V10) {
  window_case t(c, n);
  const region r = t.p.allocate(4096, IBV_ACCESS_MW_BIND);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, IBV_ACCESS_REMOTE_WRITE}));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, IBV_ACCESS_REMOTE_ATOMIC}));
}

CONFORMANCE(TC_V11) {
  window_case t(c, n);
  const region r = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  EXPECT_EQ(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, IBV_ACCESS_REMOTE_WRITE}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.write(r.addr, mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(r.addr, 64), t.p.bytes(t.here.addr, 64));
  t.expect_denied([&] { return t.write(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
}

CONFORMANCE(TC_V12) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, t.there.addr - 1, 4096, window_rights}));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, t.there.addr + 1, t.there.length, window_rights}));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, t.there.addr + t.there.length, 1, window_rights}));
  t.expect_refused(t.on_b(mw, mw->rkey + 1, {t.there.mr, t.there.addr + 1, ~0ULL, window_rights}));
  EXPECT_EQ(t.on_b(mw, mw->rkey + 1, t.piece(0, t.there.length)).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_V15) {
  window_case t(c, n);
  ibv_mw* reads = t.window(IBV_MW_TYPE_2);
  ibv_mw* writes = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(t.on_b(reads, reads->rkey + 1, t.piece(0, 8192, IBV_ACCESS_REMOTE_READ)).status, IBV_WC_SUCCESS);
  ASSERT_EQ(t.on_b(writes, writes->rkey + 1, t.piece(4096, 8192, IBV_ACCESS_REMOTE_WRITE)).status, IBV_WC_SUCCESS);
  t.expect_reads(t.there.addr + 4096, reads->rkey);
  EXPECT_EQ(t.write(t.there.addr + 4096, writes->rkey).status, IBV_WC_SUCCESS);
  t.expect_no_write(t.there.addr + 4096, reads->rkey);
  t.expect_no_read(t.there.addr + 4096, writes->rkey);
}

CONFORMANCE(TC_V16) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound(0);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V17) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound(IBV_ACCESS_REMOTE_ATOMIC);
  t.p.store64(t.there.addr, 40);
  EXPECT_EQ(t.add(t.there.addr, mw->rkey, 2).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(t.there.addr), 42U);
  t.expect_no_read(t.there.addr, mw->rkey);
  t.expect_no_write(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V18) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound(IBV_ACCESS_LOCAL_WRITE);
  t.expect_no_write(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V19) {
  window_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2, other);
  t.expect_refused(t.on_b(mw, mw->rkey + 1, t.piece(0, 4096)));
  const region r = t.p.allocate(4096, all_rights, page_policy::scattered, other);
  ibv_mw* own = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(own, own->rkey + 1, {r.mr, r.addr, 4096, window_rights}));
}

CONFORMANCE(TC_V21) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  ASSERT_EQ(post_bind(c, t.b, mw, mw->rkey, t.piece(0, 4096), {.id = 1, .flags = 0}), 0);
  ASSERT_EQ(
      post(
          c, t.b,
          {.id = 2, .sges = {{t.there.addr, 8, t.there.mr->lkey}}, .remote = t.here.addr, .rkey = t.here.mr->rkey, .flags = 0}),
      0);
  const auto first = next_completion(c, t.p.cq);
  const auto second = next_completion(c, t.p.cq);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->wr_id, 1U);
  EXPECT_EQ(first->status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(second->wr_id, 2U);
  EXPECT_EQ(second->status, IBV_WC_WR_FLUSH_ERR);
}

CONFORMANCE(TC_V22) {
  window_case t(c, n);
  ibv_mw* quiet = t.window(IBV_MW_TYPE_2);
  ibv_mw* loud = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(post_bind(c, t.b, quiet, quiet->rkey + 1, t.piece(0, 4096), {.id = 1, .flags = 0}), 0);
  ASSERT_EQ(post_bind(c, t.b, loud, loud->rkey + 1, t.piece(0, 4096), {.id = 2}), 0);
  const auto only = next_completion(c, t.p.cq);
  ASSERT_TRUE(only);
  EXPECT_EQ(only->wr_id, 2U);
  EXPECT_FALSE(next_completion(c, t.p.cq, 1_ms));
  t.expect_reads(t.there.addr, quiet->rkey + 1);
}

CONFORMANCE(TC_V23) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  const std::uint32_t key = mw->rkey;
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
  t.expect_no_read(t.there.addr, key);
}

CONFORMANCE(TC_V24) {
  window_case t(c, n);
  const region r = t.p.allocate(4096);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), EBUSY);
  t.expect_reads(r.addr, mw->rkey);
  t.expect_reads(r.addr, r.mr->rkey);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
}

// The other way the specification allows [B4.1]: the region goes, and every access through what is left of its windows fails,
// also when its index has a new owner.
TEST(conformance, TC_V24_switch_orphan_windows) {
  system_config s = world::one_node();
  s.nodes[0].hca.key_check.orphan_windows = true;
  s.nodes[0].hca.command_unit.log_mrs = 4;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n);
        const region r = t.p.allocate(4096);
        ibv_mw* mw = t.window(IBV_MW_TYPE_2);
        ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
        t.expect_reads(r.addr, mw->rkey);
        const std::uint32_t index = r.mr->lkey >> 8;
        EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
        t.expect_denied([&] { return t.write(r.addr, mw->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
        ibv_mr* next = ibv_reg_mr(c, t.p.pd, r.addr, 4096, all_rights);
        for (int i = 0; i < 16 && next->lkey >> 8 != index; ++i) {
          ASSERT_EQ(ibv_dereg_mr(c, next), 0);
          next = ibv_reg_mr(c, t.p.pd, r.addr, 4096, all_rights);
        }
        ASSERT_EQ(next->lkey >> 8, index);
        t.expect_denied([&] { return t.write(r.addr, mw->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
        EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
        EXPECT_EQ(t.windows_of(next), 0U);
      },
      s);
}

CONFORMANCE(TC_V26) {
  window_case t(c, n);
  const region r = t.p.allocate(4096);
  ibv_qp* binder = t.p.create_qp();
  ASSERT_EQ(t.p.connect(binder, t.p.address_of(binder)), 0);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(kit::bind(c, binder, mw, mw->rkey + 1, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_destroy_qp(c, binder), 0);
  EXPECT_EQ(t.windows_of(r.mr), 1U);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(t.windows_of(r.mr), 0U);
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
}

TEST(conformance, TC_V27) {
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n);
        ibv_qp* binder = t.p.create_qp();
        ASSERT_EQ(t.p.connect(binder, t.p.address_of(binder)), 0);
        ibv_mw* mw = t.window(IBV_MW_TYPE_2);
        ASSERT_EQ(kit::bind(c, binder, mw, mw->rkey + 1, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_destroy_qp(c, binder), EBUSY);
        EXPECT_EQ(kit::local_inv(c, binder, mw->rkey).status, IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_destroy_qp(c, binder), 0);
      },
      with_type_2a());
}

// A recycled QP number, in the same PD, does not inherit the window [C.1].
TEST(conformance, a_recycled_qp_number_inherits_no_window) {
  system_config few = world::one_node();
  few.nodes[0].hca.command_unit.log_qps = 4;
  run_case(
      [](cpu& c, node& n) {
        process_context p(c, n);
        const region r = p.allocate(4096);
        ibv_mw* mw = ibv_alloc_mw(c, p.pd, IBV_MW_TYPE_2);
        ibv_qp* first = p.create_qp();
        ASSERT_EQ(p.connect(first, p.address_of(first)), 0);
        ASSERT_EQ(kit::bind(c, first, mw, mw->rkey + 1, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
        const request read{
            .opcode = IBV_WR_RDMA_READ, .id = 1, .sges = {{r.addr, 8, r.mr->lkey}}, .remote = r.addr, .rkey = mw->rkey};
        EXPECT_EQ(complete(c, first, read).status, IBV_WC_SUCCESS);
        const std::uint32_t number = first->qp_num;
        ASSERT_EQ(ibv_destroy_qp(c, first), 0);
        ibv_qp* next = p.create_qp();
        for (int i = 0; i < 16 && next->qp_num != number; ++i) {
          ASSERT_EQ(ibv_destroy_qp(c, next), 0);
          next = p.create_qp();
        }
        ASSERT_EQ(next->qp_num, number);
        ASSERT_EQ(p.connect(next, p.address_of(next)), 0);
        EXPECT_NE(complete(c, next, read).status, IBV_WC_SUCCESS);
        EXPECT_EQ(statistic_of(n.hca.key_check, "remote_bad_association"), 1.0);
      },
      few);
}

CONFORMANCE(TC_V29) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  t.reconnect();
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_V30) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  ibv_mw stale = *mw;
  ASSERT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
  stale.rkey ^= 1;
  t.expect_refused(t.on_b(&stale, mw->rkey + 1, t.piece(0, 4096)));
  EXPECT_EQ(t.on_b(mw, mw->rkey + 1, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_V31) {
  window_case t(c, n);
  const region r = t.p.allocate(4096, all_rights | IBV_ACCESS_ZERO_BASED);
  ibv_mw* type2 = t.window(IBV_MW_TYPE_2);
  t.expect_refused(t.on_b(type2, type2->rkey + 1, {r.mr, 0, 4096, window_rights}));
  ibv_mw* type1 = t.window(IBV_MW_TYPE_1);
  ibv_mw_bind request{.wr_id = 1, .send_flags = 0, .bind_info = {r.mr, 0, 4096, window_rights}};
  EXPECT_EQ(ibv_bind_mw(c, t.b, type1, &request), EINVAL);
}

CONFORMANCE(TC_V33) {
  window_case t(c, n);
  constexpr int count = 4096;
  const region r = t.p.allocate(4096);
  std::vector<ibv_mw*> windows;
  for (int i = 0; i < count; ++i) {
    windows.push_back(t.window(IBV_MW_TYPE_2));
    const auto at = static_cast<std::uint64_t>(i);
    ASSERT_EQ(t.on_b(windows.back(), windows.back()->rkey + 1, {r.mr, r.addr + at % 64 * 64, 64, window_rights}).status,
              IBV_WC_SUCCESS);
  }
  EXPECT_EQ(t.windows_of(r.mr), static_cast<std::uint32_t>(count));
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), EBUSY);
  for (const ibv_mw* mw : windows) ASSERT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.windows_of(r.mr), 0U);
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
}

CONFORMANCE(TC_V34) {
  process_context p(c, n);
  errno = 0;
  EXPECT_EQ(ibv_alloc_mw(c, p.pd, static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace hcasim::kit
