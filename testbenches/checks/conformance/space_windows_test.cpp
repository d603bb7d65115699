// Windows on address spaces: what they hold, and what goes with the connection [S7, S13, C.1].
#include "testbenches/checks/conformance/space.h"
#include "testbenches/checks/conformance/window.h"

namespace hcasim::kit {
namespace {

constexpr int bound_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A space of some pages that windows can be bound to, tied to a connection of its own: `peer` reaches it.
struct bindable_space {
  bindable_space(cpu& thread, node& n, std::uint64_t pages) : c(thread), base(thread, n) {
    peer = p().create_qp();
    pinned = p().memory.pinned_bytes();
    owner = p().create_qp();
    EXPECT_EQ(p().connect(owner, p().address_of(peer)), 0);
    EXPECT_EQ(p().connect(peer, p().address_of(owner)), 0);
    memory = p().memory.allocate(pages * page);
    const x_buffer buffer{memory, pages * page};
    EXPECT_EQ(x_register(c, p().pd, owner, {&buffer, 1}, bound_rights | IBV_ACCESS_MW_BIND, X_EXTEND, &r), 0);
  }

  process_context& p() { return base.p; }
  ibv_mr* mr() { return x_mr(p().context, r.key); }
  ibv_mw_bind_info piece(std::uint64_t at, std::uint64_t bytes) { return {mr(), at, bytes, window_rights}; }
  ibv_mw* bound(ibv_mw_type type, std::uint64_t at, ibv_qp* qp) {
    ibv_mw* mw = ibv_alloc_mw(c, p().pd, type);
    const ibv_wc wc =
        type == IBV_MW_TYPE_1 ? bind_type_1(c, qp, mw, piece(at, page)) : bind(c, qp, mw, mw->rkey + 1, piece(at, page));
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    return mw;
  }
  ibv_wc write(std::uint64_t va, std::uint32_t key) {
    return complete(c, peer, {.id = 9, .sges = {{base.here.addr, 64, base.here.mr->lkey}}, .remote = va, .rkey = key});
  }
  bool reaches(std::uint64_t va, std::uint32_t key, std::uint64_t at, std::uint8_t with) {
    p().fill(base.here.addr, 64, with);
    return write(va, key).status == IBV_WC_SUCCESS && p().bytes(at, 64) == p().bytes(base.here.addr, 64);
  }

  cpu& c;
  base_case base;
  ibv_qp* owner = nullptr;
  ibv_qp* peer = nullptr;
  std::uint64_t pinned = 0;
  std::uint64_t memory = 0;
  x_result r;
};

CONFORMANCE(TC_P24) {
  bindable_space t(c, n, 2);
  const x_result first = t.r;
  ibv_mr* mr = t.mr();
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, first.start);
  EXPECT_EQ(mr->length, 2 * page);
  ibv_mw* type_1 = t.bound(IBV_MW_TYPE_1, first.start + page, t.owner);
  ibv_mw* type_2 = t.bound(IBV_MW_TYPE_2, first.start, t.owner);
  EXPECT_TRUE(t.reaches(first.start + page, type_1->rkey, t.memory + page, 1));
  EXPECT_TRUE(t.reaches(first.start, type_2->rkey, t.memory, 2));

  const x_buffer more{t.p().memory.allocate(page), page};
  ASSERT_EQ(x_reregister_add(c, t.p().context, first.key, {&more, 1}, &t.r), 0);
  EXPECT_EQ(t.mr(), mr);
  EXPECT_EQ(mr->length, 3 * page);
  EXPECT_EQ(x_deregister_part(c, t.p().context, first.key, first.handle, &t.r), EBUSY);
  EXPECT_EQ(x_teardown(c, t.p().context, first.key), EBUSY);
  EXPECT_TRUE(t.reaches(first.start + page, type_1->rkey, t.memory + page, 3));
  EXPECT_EQ(x_deregister_part(c, t.p().context, first.key, t.r.handle, &t.r), 0) << "no window lies there";
  EXPECT_EQ(ibv_dereg_mr(c, mr), ENOENT) << "it is the space's";

  EXPECT_EQ(ibv_dealloc_mw(c, type_1), 0);
  EXPECT_EQ(local_inv(c, t.owner, type_2->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(x_deregister_part(c, t.p().context, first.key, first.handle, &t.r), 0);
  EXPECT_EQ(t.mr(), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

// Only the connection binds windows to its space.
void connection_goes(cpu& c, node& n, bool type_2a) {
  bindable_space t(c, n, 4);
  ibv_mw* mine = t.bound(IBV_MW_TYPE_2, t.r.start, t.owner);
  ibv_mw* foreign = ibv_alloc_mw(c, t.p().pd, IBV_MW_TYPE_1);
  EXPECT_EQ(bind_type_1(c, t.base.b, foreign, t.piece(t.r.start, page)).status, IBV_WC_MW_BIND_ERR);
  t.base.reconnect();
  ibv_mw* type_1 = t.bound(IBV_MW_TYPE_1, t.r.start + 2 * page, t.owner);
  const std::uint32_t type_1_key = type_1->rkey;
  if (type_2a) {
    EXPECT_EQ(ibv_destroy_qp(c, t.owner), EBUSY);
    EXPECT_TRUE(t.reaches(t.r.start + 3 * page, t.r.key, t.memory + 3 * page, 1)) << "nothing has changed";
    EXPECT_TRUE(t.reaches(t.r.start, mine->rkey, t.memory, 2));
    EXPECT_EQ(local_inv(c, t.owner, mine->rkey).status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(ibv_destroy_qp(c, t.owner), 0);
  EXPECT_EQ(t.mr(), nullptr);
  EXPECT_EQ(t.p().memory.pinned_bytes(), t.pinned);
  for (ibv_mw* mw : {mine, foreign, type_1}) {
    hcax_mw_attr attr;
    ASSERT_EQ(hcax_query_mw(c, mw, &attr), 0);
    EXPECT_FALSE(attr.bound);
  }
  for (const std::uint32_t key : {t.r.key, type_1_key}) {
    EXPECT_EQ(t.base.write(t.r.start + 2 * page, key).status, IBV_WC_REM_ACCESS_ERR);
    t.base.reconnect();
  }
  EXPECT_EQ(t.p().bytes(t.memory + 2 * page, 64), std::vector<std::uint8_t>(64, 0));
  for (ibv_mw* mw : {mine, foreign, type_1}) EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
}

CONFORMANCE(TC_P25) {
  connection_goes(c, n, false);
}

TEST(conformance, TC_P26) {
  run_case([](cpu& c, node& n) { connection_goes(c, n, true); }, with_type_2a());
}

// The process ends as it is; run_case asks that it closes, and that nothing is left.
void ends_with_windows(cpu& c, node& n) {
  bindable_space t(c, n, 3);
  t.bound(IBV_MW_TYPE_2, t.r.start, t.owner);
  t.bound(IBV_MW_TYPE_1, t.r.start + page, t.owner);
  const x_buffer own{t.p().memory.allocate(page), page};
  x_result r;
  ASSERT_EQ(x_register(c, t.p().pd, nullptr, {&own, 1}, bound_rights | IBV_ACCESS_MW_BIND, X_EXTEND, &r), 0);
  ibv_mw* mw = ibv_alloc_mw(c, t.p().pd, IBV_MW_TYPE_1);
  EXPECT_EQ(bind_type_1(c, t.owner, mw, {x_mr(t.p().context, r.key), r.start, page, window_rights}).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_P27) {
  ends_with_windows(c, n);
}

TEST(conformance, a_process_ends_with_type_2a_windows_on_a_space) {
  run_case(ends_with_windows, with_type_2a());
}

}  // namespace
}  // namespace hcasim::kit
