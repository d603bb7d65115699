// Group TC-W: type 1 memory windows [C.1 to C.5].
#include "testbenches/checks/conformance/window.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(TC_W01) {
  window_case t(c, n);
  const ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W02) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  const std::uint32_t before = mw->rkey;
  const ibv_wc wc = t.on_b_type_1(mw, t.piece(0, 4096));
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
  EXPECT_NE(mw->rkey, before);
  EXPECT_EQ(mw->rkey >> 8, before >> 8);
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
  t.expect_reads(t.there.addr, mw->rkey);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr, 64));
  t.p.fill(t.here.addr, 64, 7);
  EXPECT_EQ(t.write(t.there.addr, mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr, 64));
  t.p.store64(t.there.addr, 5);
  EXPECT_EQ(t.add(t.there.addr, mw->rkey, 2).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.swap(t.there.addr, mw->rkey, 7, 11).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(t.there.addr), 11U);
}

CONFORMANCE(TC_W03) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  const std::uint32_t before = mw->rkey;
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  t.expect_no_read(t.there.addr, before);
  t.expect_no_write(t.there.addr, before);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W04) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(0, 8192)).status, IBV_WC_SUCCESS);
  const std::uint32_t old = mw->rkey;
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(8192, 8192)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
  t.expect_no_read(t.there.addr, old);
  t.expect_no_read(t.there.addr + 8192, old);
  t.expect_no_read(t.there.addr, mw->rkey);
  t.expect_no_write(t.there.addr + 8192 - 1, mw->rkey);
  t.expect_reads(t.there.addr + 8192, mw->rkey);
  t.expect_reads(t.there.addr + 16384 - 64, mw->rkey);
}

CONFORMANCE(TC_W05) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  const std::uint32_t last = mw->rkey;
  EXPECT_EQ(t.on_b_type_1(mw, t.piece(0, 0)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
  t.expect_no_read(t.there.addr, last);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W06) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  ibv_mw_bind wrong{.wr_id = 1, .send_flags = 0, .bind_info = {nullptr, 8, 0, 0}};
  EXPECT_EQ(ibv_bind_mw(c, t.b, mw, &wrong), EINVAL);
  wrong.bind_info = {nullptr, 0, 8, 0};
  EXPECT_EQ(ibv_bind_mw(c, t.b, mw, &wrong), EINVAL);
  t.expect_reads(t.there.addr, mw->rkey);
  EXPECT_EQ(t.on_b_type_1(mw, {nullptr, 0, 0, 0}).status, IBV_WC_SUCCESS);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W07) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ibv_mw_bind request{.wr_id = 1, .send_flags = 0, .bind_info = t.piece(0, 4096, window_rights | IBV_ACCESS_ZERO_BASED)};
  EXPECT_EQ(ibv_bind_mw(c, t.b, mw, &request), EINVAL);
}

CONFORMANCE(TC_W08) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  EXPECT_EQ(post_bind(c, t.b, mw, mw->rkey + 1, t.piece(0, 4096)), EINVAL);
}

CONFORMANCE(TC_W09) {
  window_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1, other);
  ibv_mw_bind request{.wr_id = 1, .send_flags = 0, .bind_info = t.piece(0, 4096)};
  EXPECT_EQ(ibv_bind_mw(c, t.b, mw, &request), EPERM);
}

// Type 1 is not tied to a QP.
CONFORMANCE(TC_W11) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(bind_type_1(c, t.a, mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W12) {
  window_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  const region r = t.p.allocate(4096, all_rights, page_policy::scattered, other);
  ibv_qp* binder = t.p.create_qp({}, other);
  ASSERT_EQ(t.p.connect(binder, t.p.address_of(binder)), 0);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1, other);
  ASSERT_EQ(bind_type_1(c, binder, mw, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
  t.expect_denied([&] { return t.read(r.addr, mw->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
}

CONFORMANCE(TC_W13) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(bind_type_1(c, t.a, mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.on_b_type_1(mw, t.piece(4096, 4096)).status, IBV_WC_SUCCESS);
  t.expect_reads(t.there.addr + 4096, mw->rkey);
}

CONFORMANCE(TC_W14) {
  window_case t(c, n);
  ibv_qp* binder = t.p.create_qp();
  ASSERT_EQ(t.p.connect(binder, t.p.address_of(binder)), 0);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(bind_type_1(c, binder, mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_destroy_qp(c, binder), 0);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_W17) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(c, t.b, &attr, IBV_QP_STATE), 0);
  ibv_mw_bind request{.wr_id = 0x77, .send_flags = IBV_SEND_SIGNALED, .bind_info = t.piece(0, 4096)};
  ASSERT_EQ(ibv_bind_mw(c, t.b, mw, &request), 0);
  EXPECT_EQ(wait_for(c, t.b, {}).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
}

}  // namespace
}  // namespace hcasim::kit
