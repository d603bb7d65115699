// The base set-up with memory windows on the target region. QP b is the target's: type 2 windows are bound there.
#pragma once

#include "testbenches/checks/conformance/base.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {

inline system_config with_type_2a() {
  system_config s = world::one_node();
  s.nodes[0].hca.key_check.window_type2 = window_association::qp;
  return s;
}

inline constexpr unsigned window_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct window_case : base_case {
  using base_case::base_case;

  ibv_mw* window(ibv_mw_type type, ibv_pd* pd = nullptr) {
    ibv_mw* mw = ibv_alloc_mw(c, pd ? pd : p.pd, type);
    EXPECT_NE(mw, nullptr);
    return mw;
  }
  // Bytes [from, from + bytes) of the target region.
  [[nodiscard]] ibv_mw_bind_info piece(std::uint64_t from, std::uint64_t bytes, unsigned rights = window_rights) const {
    return {there.mr, there.addr + from, bytes, rights};
  }
  // A type 2 window over the first page, bound on QP b.
  ibv_mw* bound(unsigned rights = window_rights) {
    ibv_mw* mw = window(IBV_MW_TYPE_2);
    EXPECT_EQ(on_b(mw, mw->rkey + 1, piece(0, 4096, rights)).status, IBV_WC_SUCCESS);
    return mw;
  }
  ibv_wc on_b(ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info& what) {
    return kit::bind(c, b, mw, key, what, {.others = &received});
  }
  ibv_wc on_b_type_1(ibv_mw* mw, const ibv_mw_bind_info& what) { return bind_type_1(c, b, mw, what, {.others = &received}); }
  ibv_wc invalidate_on_b(std::uint32_t key) { return kit::local_inv(c, b, key, {.others = &received}); }

  void expect_reads(std::uint64_t va, std::uint32_t key) { EXPECT_EQ(read(va, key).status, IBV_WC_SUCCESS); }
  void expect_no_read(std::uint64_t va, std::uint32_t key) {
    expect_denied([&] { return read(va, key); }, IBV_WC_REM_ACCESS_ERR, there.addr);
  }
  void expect_no_write(std::uint64_t va, std::uint32_t key) {
    expect_denied([&] { return write(va, key); }, IBV_WC_REM_ACCESS_ERR, there.addr);
  }
  void expect_no_add(std::uint64_t va, std::uint32_t key) {
    expect_denied([&] { return add(va, key); }, IBV_WC_REM_ACCESS_ERR, there.addr);
  }
  // A bind that fails puts its QP into ERR; both come back.
  void expect_refused(const ibv_wc& wc) {
    EXPECT_EQ(wc.status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(p.state(b), IBV_QPS_ERR);
    reconnect();
  }
  // Windows that are bound to the target region.
  std::uint32_t windows_of(ibv_mr* mr) {
    hca_mrc m{};
    EXPECT_EQ(hcax_query_mr(c, mr, &m), 0);
    return m.parent;
  }
};

}  // namespace hcasim::kit
