// Group TC-K: keys.
#include <set>

#include "firmware/abi/keys.h"
#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(TC_K01) {
  process_context p(c, n);
  std::set<std::uint32_t> indices;
  for (int i = 0; i < 3; ++i) {
    const region r = p.allocate(4096);
    EXPECT_EQ(r.mr->lkey, r.mr->rkey);
    EXPECT_NE(r.mr->rkey, 0U);
    EXPECT_GE(hca_key_index(r.mr->rkey), 1U);
    indices.insert(hca_key_index(r.mr->rkey));
  }
  EXPECT_EQ(indices.size(), 3U);
}

CONFORMANCE(TC_K02) {
  base_case t(c, n);
  const auto before = t.p.bytes(t.here.addr, 64);
  t.expect_denied([&] { return t.read(t.there.addr, ibv_inc_rkey(t.there.mr->rkey)); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), before);
}

CONFORMANCE(TC_K03) {
  base_case t(c, n);
  const std::uint32_t far = hca_key_make(0xfffffe, hca_key_byte(t.there.mr->rkey));
  t.expect_denied([&] { return t.write(t.there.addr, far); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_K04) {
  base_case t(c, n);
  t.expect_denied([&] { return t.read(t.there.addr, 0); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
}

CONFORMANCE(TC_K05) {
  base_case t(c, n);
  const region local_only = t.p.allocate(4096, IBV_ACCESS_LOCAL_WRITE);
  t.expect_denied([&] { return t.read(local_only.addr, local_only.mr->lkey); }, IBV_WC_REM_ACCESS_ERR, local_only.addr);
}

CONFORMANCE(TC_K06) {
  EXPECT_EQ(ibv_inc_rkey(0x123456ff), 0x12345600U);
  EXPECT_EQ(ibv_inc_rkey(0xffffff00), 0xffffff01U);
}

}  // namespace
}  // namespace hcasim::kit
