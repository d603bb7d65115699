// Group TC-R: standard re-registration.
#include <set>

#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

int rereg(base_case& t, int flags, ibv_pd* pd = nullptr, std::uint64_t addr = 0, std::uint64_t length = 0, int access = 0) {
  return ibv_rereg_mr(t.c, t.there.mr, flags, pd, addr, length, access);
}

CONFORMANCE(TC_R01) {
  base_case t(c, n);
  const std::uint64_t fresh = t.p.memory.allocate(8192);
  t.p.fill(fresh, 8192, 200);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, fresh, 8192), 0);
  EXPECT_EQ(t.there.mr->addr, fresh);
  EXPECT_EQ(t.there.mr->length, 8192U);
  EXPECT_EQ(t.read(fresh + 100, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(fresh + 100, 64));
  t.expect_denied([&] { return t.write(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
}

CONFORMANCE(TC_R02) {
  base_case t(c, n);
  EXPECT_EQ(post_receive(c, t.b, 1, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  const std::uint64_t fresh = t.p.memory.allocate(16384);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, fresh, 16384), 0);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_LOC_PROT_ERR);
  t.reconnect();
  EXPECT_EQ(post_receive(c, t.b, 2, {{fresh, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(t.send().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(fresh, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_R03) {
  base_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_PD, other), 0);
  EXPECT_EQ(t.there.mr->pd, other);
  EXPECT_EQ(post_receive(c, t.b, 1, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(t.send().status, IBV_WC_REM_OP_ERR);
  t.reconnect();
  t.expect_denied([&] { return t.write(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_PD, t.p.pd), 0);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_R04) {
  base_case t(c, n);
  ibv_pd* first = ibv_alloc_pd(c, t.p.context);
  ibv_pd* second = ibv_alloc_pd(c, t.p.context);
  ibv_mr* mr = ibv_reg_mr(c, first, t.there.addr, 4096, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_PD, second, 0, 0, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(c, first), 0);
  EXPECT_EQ(ibv_dealloc_pd(c, second), EBUSY);
}

CONFORMANCE(TC_R05) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ), 0);
  EXPECT_EQ(t.read(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  t.expect_denied([&] { return t.write(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
}

CONFORMANCE(TC_R06) {
  base_case t(c, n);
  const region r = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE);
  t.expect_denied([&] { return t.write(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
  EXPECT_EQ(ibv_rereg_mr(c, r.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
            0);
  EXPECT_EQ(t.write(r.addr, r.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(r.addr, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_R07) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), 0);
  t.expect_denied([&] { return t.add(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, all_rights), 0);
  EXPECT_EQ(t.add(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_R09) {
  base_case t(c, n);
  const std::uint64_t fixed = t.p.memory.allocate(4096, page_policy::scattered, 0, false);
  const std::uint64_t open = t.p.memory.allocate(4096);
  ibv_mr* mr = ibv_reg_mr(c, t.p.pd, fixed, 4096, 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, open, 4096,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
            0);
  EXPECT_EQ(t.write(open, mr->rkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_R10) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
}

CONFORMANCE(TC_R11) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, t.there.addr, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_R13) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, 1 << 7), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(rereg(t, 0), IBV_REREG_MR_ERR_CMD);
}

CONFORMANCE(TC_R15) {
  base_case t(c, n);
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  const std::uint64_t fresh = t.p.memory.allocate(8192);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, other, fresh, 8192,
                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
            0);
  EXPECT_EQ(t.there.mr->addr, fresh);
  EXPECT_EQ(t.there.mr->pd, other);
  t.expect_denied([&] { return t.read(fresh, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, fresh);  // the PD is another one
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_PD, t.p.pd), 0);
  EXPECT_EQ(t.read(fresh, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  t.expect_denied([&] { return t.write(fresh, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, fresh);
}

// With new keys: the old one is dead for every peer, whatever was changed and whichever QP used it last.
TEST(conformance, TC_R18) {
  system_config renewing = world::one_node();
  renewing.nodes[0].driver.rereg_key = driver::rereg_key_policy::renew;
  run_case(
      [](cpu& c, node& n) {
        base_case t(c, n);
        const std::uint64_t fresh = t.p.memory.allocate(16384);
        const struct {
          int flags;
          std::uint64_t addr;
          int access;
        } changes[] = {{IBV_REREG_MR_CHANGE_ACCESS, 0, all_rights},
                       {IBV_REREG_MR_CHANGE_PD, 0, 0},
                       {IBV_REREG_MR_CHANGE_TRANSLATION, fresh, 0},
                       {IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, t.there.addr, all_rights}};
        std::set<std::uint32_t> keys{t.there.mr->rkey};
        for (const auto& change : changes) {
          const std::uint32_t old = t.there.mr->rkey;
          EXPECT_EQ(t.write(t.there.mr->addr, old).status, IBV_WC_SUCCESS);  // it is in every cache
          ASSERT_EQ(rereg(t, change.flags, t.p.pd, change.addr, change.addr ? 16384 : 0, change.access), 0);
          EXPECT_TRUE(keys.insert(t.there.mr->rkey).second);
          EXPECT_EQ(t.there.mr->lkey, t.there.mr->rkey);
          t.expect_denied([&] { return t.write(t.there.addr, old); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
          t.expect_denied([&] { return t.read(fresh, old); }, IBV_WC_REM_ACCESS_ERR, fresh);
          EXPECT_EQ(t.write(t.there.mr->addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
          EXPECT_EQ(t.p.bytes(t.there.mr->addr, 64), t.p.bytes(t.here.addr, 64));
        }
      },
      renewing);
}

CONFORMANCE(TC_R19) {
  base_case t(c, n);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
  t.expect_denied([&] { return t.write(t.there.addr, t.there.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
}

// Windows are bound: the driver cannot take the key away either, and everything stays as it was until the region is
// de-registered.
CONFORMANCE(TC_R21) {
  base_case t(c, n);
  ibv_mw* const mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
  ASSERT_EQ(bind_type_1(c, t.b, mw, {t.there.mr, t.there.addr, 64, IBV_ACCESS_REMOTE_WRITE}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.write(t.there.addr, mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
}

// The adapter changes all or nothing and keeps the old key when it refuses; what becomes of the key then is the driver's
// decision.
void fail_while_renewing(driver::failed_rereg_policy policy) {
  system_config renewing = world::one_node();
  renewing.nodes[0].driver.rereg_key = driver::rereg_key_policy::renew;
  renewing.nodes[0].driver.failed_rereg = policy;
  run_case(
      [policy](cpu& c, node& n) {
        base_case t(c, n);
        const std::uint32_t key = t.there.mr->rkey;
        EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
        EXPECT_EQ(t.there.mr->rkey, key);
        if (policy == driver::failed_rereg_policy::keep) {
          EXPECT_EQ(t.write(t.there.addr, key).status, IBV_WC_SUCCESS);
        } else {
          t.expect_denied([&] { return t.write(t.there.addr, key); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
        }
        EXPECT_EQ(ibv_dereg_mr(c, t.there.mr), 0);
      },
      renewing);
}

TEST(conformance, TC_R22_revoked) {
  fail_while_renewing(driver::failed_rereg_policy::revoke);
}
TEST(conformance, TC_R22_kept) {
  fail_while_renewing(driver::failed_rereg_policy::keep);
}

CONFORMANCE(TC_R20) {
  base_case t(c, n);
  const std::uint64_t large = t.p.memory.allocate(4_MiB);
  t.p.fill(large + 4_MiB - 64, 64, 77);
  EXPECT_EQ(rereg(t, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, large, 4_MiB), 0);
  EXPECT_EQ(t.read(large + 4_MiB - 64, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(large + 4_MiB - 64, 64));
}

}  // namespace
}  // namespace hcasim::kit
