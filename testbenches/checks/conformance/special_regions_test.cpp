// Regions that are not registered user memory: fast-register (TC-M24 to TC-M26), null (TC-M16), physical (TC-T08), indirect
// (TC-T09), the reserved L_Key (TC-K13); and the windows' keys of group TC-K.
#include <set>

#include "firmware/abi/keys.h"
#include "testbenches/checks/conformance/window.h"

namespace hcasim::kit {
namespace {

// The base set-up on privileged QPs, with a fast-register region mapped onto two pages of fresh memory.
struct fast_case : window_case {
  fast_case(cpu& thread, node& on) : window_case(thread, on, {.privileged = true}) {
    mr = hcax_alloc_fast_mr(c, p.pd, 16);
    memory = p.memory.allocate(8192);
    p.fill(memory, 8192, 55);
    EXPECT_EQ(hcax_map_mr(c, mr, memory, 8192), 0);
  }
  ibv_wc reg(std::uint32_t key) { return kit::reg_mr(c, b, mr, key, all_rights, {.others = &received}); }
  ibv_mr* mr;
  std::uint64_t memory;
};

CONFORMANCE(TC_M24) {
  fast_case t(c, n);
  const ibv_wc wc = t.reg(t.mr->lkey + 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_REG_MR);
  t.expect_reads(t.memory, t.mr->rkey);
  EXPECT_NE(t.reg(t.mr->lkey + 1).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
  t.reconnect();
  t.expect_reads(t.memory, t.mr->rkey);
}

CONFORMANCE(TC_M25) {
  fast_case t(c, n);
  EXPECT_NE(t.reg(t.mr->lkey + 0x100).status, IBV_WC_SUCCESS) << "another index";
  t.reconnect();
  ibv_pd* other = ibv_alloc_pd(c, t.p.context);
  ibv_qp* stranger = t.p.create_qp({.privileged = true}, other);
  ASSERT_EQ(t.p.connect(stranger, t.p.address_of(stranger)), 0);
  EXPECT_NE(kit::reg_mr(c, stranger, t.mr, t.mr->lkey + 1, all_rights).status, IBV_WC_SUCCESS) << "another PD";
  EXPECT_EQ(t.p.state(stranger), IBV_QPS_ERR);
  EXPECT_EQ(t.reg(t.mr->lkey + 1).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_M26) {
  fast_case t(c, n);
  t.expect_denied([&] { return t.read(t.memory, t.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.memory);
  ASSERT_EQ(t.reg(t.mr->lkey + 1).status, IBV_WC_SUCCESS);
  const std::uint32_t first = t.mr->rkey;
  t.expect_reads(t.memory + 100, first);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.memory + 100, 64));
  EXPECT_EQ(t.write(t.memory + 4096 - 32, first).status, IBV_WC_SUCCESS) << "across its pages";
  EXPECT_EQ(t.invalidate_on_b(first).status, IBV_WC_SUCCESS);
  t.expect_denied([&] { return t.read(t.memory, first); }, IBV_WC_REM_ACCESS_ERR, t.memory);
  const std::uint64_t elsewhere = t.p.memory.allocate(8192);
  t.p.fill(elsewhere, 8192, 77);
  ASSERT_EQ(hcax_map_mr(c, t.mr, elsewhere, 8192), 0);
  ASSERT_EQ(t.reg(first + 1).status, IBV_WC_SUCCESS);
  EXPECT_EQ(hca_key_index(t.mr->rkey), hca_key_index(first));
  t.expect_reads(elsewhere, t.mr->rkey);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(elsewhere, 64)) << "not through translations of before";
  t.expect_denied([&] { return t.read(t.memory, first); }, IBV_WC_REM_ACCESS_ERR, t.memory);
  t.expect_denied([&] { return t.read(t.memory, t.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, t.memory);
}

// A user's QP may not: the request is refused when it is posted.
CONFORMANCE(fast_registration_needs_a_privileged_qp) {
  fast_case t(c, n);
  ibv_qp* user = t.p.create_qp();
  ASSERT_EQ(t.p.connect(user, t.p.address_of(user)), 0);
  EXPECT_EQ(post_reg_mr(c, user, t.mr, t.mr->lkey + 1, all_rights), EINVAL);
}

CONFORMANCE(TC_I18) {
  fast_case t(c, n);
  ASSERT_EQ(t.reg(t.mr->lkey + 1).status, IBV_WC_SUCCESS);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {t.mr, t.memory, 4096, window_rights}).status, IBV_WC_SUCCESS);
  t.expect_refused(t.invalidate_on_b(t.mr->lkey));
  t.expect_reads(t.memory, mw->rkey);
  EXPECT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.invalidate_on_b(t.mr->lkey).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_M16) {
  base_case t(c, n);
  const ibv_mr* null = ibv_alloc_null_mr(c, t.p.pd);
  ASSERT_NE(null, nullptr);
  ASSERT_EQ(post_receive(c, t.b, 1, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, t.a, {.opcode = IBV_WR_SEND, .id = 1, .sges = {{0xdead000, 64, null->lkey}}}, &t.received).status,
            IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), std::vector<std::uint8_t>(64, 0));
  const auto memory = t.p.bytes(t.there.addr, t.there.length);
  ASSERT_EQ(post_receive(c, t.b, 2, {{0x1234, 64, null->lkey}}), 0);
  EXPECT_EQ(t.send(64).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().byte_len, 64U);
  EXPECT_EQ(t.p.bytes(t.there.addr, t.there.length), memory);
  // A peer's WRITE goes nowhere, its READ brings zeros; an atomic would have to keep something.
  EXPECT_EQ(t.write(0x1000, null->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, t.there.length), memory);
  t.p.fill(t.here.addr, 64, 7);
  EXPECT_EQ(t.read(~std::uint64_t{0} - 4096, null->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), std::vector<std::uint8_t>(64, 0));
  t.expect_denied([&] { return t.add(0x1000, null->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
}

// Its PD may go first, as with providers that make it without the kernel: the key goes with it.
CONFORMANCE(a_null_region_does_not_hold_its_pd) {
  base_case t(c, n);
  ibv_pd* pd = ibv_alloc_pd(c, t.p.context);
  ASSERT_NE(pd, nullptr);
  ibv_mr* null = ibv_alloc_null_mr(c, pd);
  ASSERT_NE(null, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(c, pd), 0);
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, null, &m), ENOENT);
  EXPECT_EQ(ibv_dereg_mr(c, null), 0);
}

system_config with_null_regions(driver::null_region_use use) {
  system_config s = world::one_node();
  s.nodes[0].driver.null_mr = use;
  return s;
}

void null_regions_for_local_use(cpu& c, node& n) {
  base_case t(c, n);
  const ibv_mr* null = ibv_alloc_null_mr(c, t.p.pd);
  ASSERT_NE(null, nullptr);
  ASSERT_EQ(post_receive(c, t.b, 1, {{0x1234, 64, null->lkey}}), 0);
  EXPECT_EQ(t.send(64).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().byte_len, 64U);
  t.expect_denied([&] { return t.read(0x1000, null->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  t.expect_denied([&] { return t.write(0x1000, null->rkey); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
}

void null_regions_that_are_not_there(cpu& c, node& n) {
  base_case t(c, n);
  EXPECT_EQ(ibv_alloc_null_mr(c, t.p.pd), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(conformance, null_regions_as_the_adapter_has_them) {
  run_case(null_regions_for_local_use, with_null_regions(driver::null_region_use::local));
}
TEST(conformance, no_null_regions) {
  run_case(null_regions_that_are_not_there, with_null_regions(driver::null_region_use::none));
}

CONFORMANCE(TC_T08) {
  if (n.iommu) GTEST_SKIP() << "about physical addresses";
  base_case t(c, n);
  const ibv_mr* all = hcax_alloc_physical_mr(c, t.p.pd, all_rights & ~IBV_ACCESS_MW_BIND);
  ASSERT_NE(all, nullptr);
  const std::uint64_t physical = t.p.memory.translate(t.there.addr + 4096);
  EXPECT_EQ(t.write(physical + 8, all->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr + 4096 + 8, 64), t.p.bytes(t.here.addr, 64));
}

CONFORMANCE(TC_T09) {
  base_case t(c, n);
  const region other = t.p.allocate(8192);
  t.p.fill(other.addr, 8192, 31);
  std::vector<ibv_sge> pieces;
  std::vector<std::uint8_t> expected;
  const auto take = [&](const region& r, std::uint64_t from, std::uint32_t bytes) {
    pieces.push_back({r.addr + from, bytes, r.mr->lkey});
    const auto v = t.p.bytes(r.addr + from, bytes);
    expected.insert(expected.end(), v.begin(), v.end());
  };
  for (std::uint64_t i = 0; i < 6; ++i) {
    take(t.there, 100 + i * 700, static_cast<std::uint32_t>(37 + i));
    take(other, 4096 - 20 + i * 50, 40);
  }
  const std::uint64_t iova = 0x500000;
  ibv_mr* list =
      hcax_reg_indirect_mr(c, t.p.pd, pieces.data(), static_cast<int>(pieces.size()), iova, all_rights & ~IBV_ACCESS_MW_BIND);
  ASSERT_NE(list, nullptr);
  const auto total = static_cast<std::uint32_t>(expected.size());
  EXPECT_EQ(t.read(iova, list->rkey, total).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, total), expected);
  EXPECT_EQ(t.read(iova + 30, list->rkey, 100).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 100), std::vector<std::uint8_t>(expected.begin() + 30, expected.begin() + 130));
  t.p.fill(t.here.addr, total, 200);
  EXPECT_EQ(t.write(iova, list->rkey, total).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr + 100, 37), t.p.bytes(t.here.addr, 37));
  EXPECT_EQ(t.p.bytes(other.addr + 4096 - 20, 40), t.p.bytes(t.here.addr + 37, 40));
  t.expect_denied([&] { return t.read(iova + 1, list->rkey, total); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);

  // A revoked element: nothing of the request is placed, from either side.
  ASSERT_EQ(ibv_dereg_mr(c, other.mr), 0);
  t.expect_denied([&] { return t.write(iova, list->rkey, total); }, IBV_WC_REM_ACCESS_ERR, t.there.addr, 16384);
  EXPECT_EQ(t.write(iova, list->rkey, 37).status, IBV_WC_SUCCESS) << "the first element alone is still good";
  t.expect_denied_here(
      [&] {
        return complete(c, t.a,
                        {.id = 6, .sges = {{iova, total, list->lkey}}, .remote = t.there.addr, .rkey = t.there.mr->rkey},
                        &t.received);
      },
      IBV_WC_LOC_PROT_ERR, t.there.addr, 16384);
}

void reserved_key(cpu& c, node& n) {
  if (n.iommu) GTEST_SKIP() << "about physical addresses";
  base_case t(c, n);
  std::uint32_t reserved = 0;
  ASSERT_EQ(hcax_reserved_lkey(t.p.context, &reserved), 0);
  const std::uint64_t physical = t.p.memory.translate(t.here.addr);
  const auto write_with = [&](ibv_qp* qp, std::uint32_t rkey) {
    return complete(c, qp, {.id = 8, .sges = {{physical, 64, reserved}}, .remote = t.there.addr, .rkey = rkey}, &t.received);
  };
  t.expect_denied_here([&] { return write_with(t.a, t.there.mr->rkey); }, IBV_WC_LOC_PROT_ERR, t.there.addr);
  t.expect_denied([&] { return t.write(physical, reserved); }, IBV_WC_REM_ACCESS_ERR, t.here.addr);
  ibv_qp* kernel = t.p.create_qp({.privileged = true});
  ASSERT_EQ(t.p.connect(kernel, t.p.address_of(kernel)), 0);
  EXPECT_EQ(write_with(kernel, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), t.p.bytes(t.here.addr, 64));
  EXPECT_NE(complete(c, kernel,
                     {.opcode = IBV_WR_RDMA_READ,
                      .id = 9,
                      .sges = {{t.here.addr, 64, t.here.mr->lkey}},
                      .remote = physical,
                      .rkey = reserved},
                     &t.received)
                .status,
            IBV_WC_SUCCESS);
}

TEST(conformance, TC_K13) {
  system_config s = world::one_node();
  s.nodes[0].driver.reserved_lkey = true;
  run_case(reserved_key, s);
}

CONFORMANCE(there_is_no_reserved_key_unless_it_is_configured) {
  process_context p(c, n);
  std::uint32_t key = 0;
  EXPECT_EQ(hcax_reserved_lkey(p.context, &key), EOPNOTSUPP);
}

CONFORMANCE(TC_K09) {
  window_case t(c, n);
  std::set<std::uint32_t> keys;
  std::vector<ibv_mw*> windows;
  for (std::uint64_t i = 0; i < 64; ++i) {
    windows.push_back(t.window(IBV_MW_TYPE_2));
    ASSERT_EQ(t.on_b(windows.back(), 0x00, t.piece(i * 128, 128)).status, IBV_WC_SUCCESS);
    EXPECT_EQ(hca_key_byte(windows.back()->rkey), 0);
    keys.insert(windows.back()->rkey);
  }
  EXPECT_EQ(keys.size(), 64U);
  for (std::uint64_t i = 0; i < 64; ++i) {
    t.expect_reads(t.there.addr + i * 128, windows[i]->rkey);
    EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr + i * 128, 64));
  }
  t.expect_no_read(t.there.addr + 128, windows[0]->rkey);
}

CONFORMANCE(TC_K10) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  EXPECT_EQ(t.on_b(mw, 0x00ffff42, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(hca_key_byte(mw->rkey), 0x42);
  t.expect_reads(t.there.addr, mw->rkey);
  t.expect_no_read(t.there.addr, 0x00ffff42);
}

CONFORMANCE(TC_K11) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  EXPECT_EQ(t.on_b(mw, mw->rkey, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_K12) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  t.expect_denied_here(
      [&] {
        return complete(c, t.a, {.opcode = IBV_WR_SEND, .id = 3, .sges = {{t.there.addr, 64, mw->rkey}}}, &t.received);
      },
      IBV_WC_LOC_PROT_ERR, t.there.addr);
}

// A region in the adapter's own memory: reached by peers, and by software through the BAR.
CONFORMANCE(device_memory_is_read_written_and_counted) {
  base_case t(c, n);
  ibv_dm* dm = ibv_alloc_dm(c, t.p.context, 8192);
  ASSERT_NE(dm, nullptr);
  constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  errno = 0;
  EXPECT_EQ(ibv_reg_dm_mr(c, t.p.pd, dm, 0, 8192, rights), nullptr) << "not zero-based";
  EXPECT_EQ(errno, EINVAL);
  ibv_mr* mr = ibv_reg_dm_mr(c, t.p.pd, dm, 0, 8192, rights | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(c, dm), EBUSY);
  EXPECT_EQ(t.write(4000, mr->rkey, 256).status, IBV_WC_SUCCESS) << "across its pages";
  const auto sent = t.p.bytes(t.here.addr, 256);
  EXPECT_EQ(ibv_memcpy_from_dm(c, t.there.addr, dm, 4000, 256), 0);
  EXPECT_EQ(t.p.bytes(t.there.addr, 256), sent);
  EXPECT_EQ(ibv_memcpy_to_dm(c, dm, 0, t.there.addr + 4096, 64), 0);
  EXPECT_EQ(t.read(0, mr->rkey, 64).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(t.there.addr + 4096, 64));
  t.p.store64(t.there.addr, 41);
  EXPECT_EQ(ibv_memcpy_to_dm(c, dm, 64, t.there.addr, 8), 0);
  EXPECT_EQ(t.add(64, mr->rkey, 1).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_memcpy_from_dm(c, t.there.addr, dm, 64, 8), 0);
  EXPECT_EQ(t.p.load64(t.there.addr), 42U);
  t.expect_denied([&] { return t.read(8192 - 63, mr->rkey, 64); }, IBV_WC_REM_ACCESS_ERR, t.there.addr);
  EXPECT_EQ(ibv_memcpy_to_dm(c, dm, 8192, t.there.addr, 4), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  EXPECT_EQ(ibv_free_dm(c, dm), 0);
}

// Another function of the adapter, with a PD of the same number, cannot use the key nor name it.
CONFORMANCE(TC_K14) {
  base_case t(c, n);
  errno = 0;
  EXPECT_EQ(hcax_open_function(c, n.device(), t.p.memory, 9), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_context* other = hcax_open_function(c, n.device(), t.p.memory, 1);
  ASSERT_NE(other, nullptr);
  ibv_pd* pd = ibv_alloc_pd(c, other);
  ibv_cq* cq = ibv_create_cq(c, other, 16, nullptr, nullptr, 0);
  const auto qp_of = [&](ibv_pd* domain, ibv_cq* queue) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = queue;
    init.cap = {8, 8, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    return ibv_create_qp(c, domain, &init);
  };
  // The request arrives at a QP of function 1; the key is one of function 0, later one of function 1.
  ibv_qp* target = qp_of(pd, cq);
  ibv_qp* writer = t.p.create_qp();
  ASSERT_EQ(t.p.connect(target, t.p.address_of(writer)), 0);
  ASSERT_EQ(t.p.connect(writer, t.p.address_of(target)), 0);
  const auto write_with = [&](std::uint64_t to, std::uint32_t rkey) {
    return complete(c, writer, {.id = 1, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .remote = to, .rkey = rkey}).status;
  };
  const std::uint64_t memory = t.p.memory.allocate(4096);
  ibv_mr* own = ibv_reg_mr(c, pd, memory, 4096, all_rights);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(write_with(memory, own->rkey), IBV_WC_SUCCESS);
  const auto before = t.p.bytes(t.there.addr, 64);
  EXPECT_EQ(write_with(t.there.addr, t.there.mr->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(t.p.bytes(t.there.addr, 64), before);
  // Nor can function 1 name it in a command.
  ibv_mr foreign = *own;
  foreign.lkey = t.there.mr->lkey;
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, &foreign, &m), ENOENT);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_close_device(c, other), 0);
}

// No window can be bound to these [BND15]; none can be re-registered (TC-R14).
CONFORMANCE(TC_V32) {
  fast_case t(c, n);
  ibv_sge whole{t.there.addr, 4096, t.there.mr->lkey};
  ibv_dm* dm = ibv_alloc_dm(c, t.p.context, 4096);
  ibv_mr* const regions[] = {ibv_alloc_null_mr(c, t.p.pd), hcax_alloc_physical_mr(c, t.p.pd, IBV_ACCESS_LOCAL_WRITE),
                             ibv_reg_dm_mr(c, t.p.pd, dm, 0, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED),
                             hcax_reg_indirect_mr(c, t.p.pd, &whole, 1, t.there.addr, IBV_ACCESS_LOCAL_WRITE)};
  for (ibv_mr* mr : regions) {
    ASSERT_NE(mr, nullptr);
    ibv_mw* type1 = t.window(IBV_MW_TYPE_1);
    ibv_mw_bind request{.wr_id = 1, .send_flags = 0, .bind_info = {mr, t.there.addr, 64, IBV_ACCESS_REMOTE_READ}};
    const int refused = ibv_bind_mw(c, t.b, type1, &request);
    EXPECT_TRUE(refused == ENOTSUP || refused == EINVAL) << refused;
    ibv_mw* type2 = t.window(IBV_MW_TYPE_2);
    t.expect_refused(t.on_b(type2, type2->rkey + 1, {mr, t.there.addr, 64, IBV_ACCESS_REMOTE_READ}));
  }
}

CONFORMANCE(TC_R14) {
  fast_case t(c, n);
  ibv_sge whole{t.there.addr, 4096, t.there.mr->lkey};
  ibv_mr* const regions[] = {ibv_alloc_null_mr(c, t.p.pd), hcax_alloc_physical_mr(c, t.p.pd, IBV_ACCESS_LOCAL_WRITE), t.mr,
                             hcax_reg_indirect_mr(c, t.p.pd, &whole, 1, t.there.addr, IBV_ACCESS_LOCAL_WRITE)};
  for (ibv_mr* mr : regions) {
    errno = 0;
    EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(errno, EINVAL);
  }

  // The kernel refuses it for device memory; the key is gone then, the region still has to be de-registered.
  ibv_dm* dm = ibv_alloc_dm(c, t.p.context, 4096);
  ibv_mr* on_adapter = ibv_reg_dm_mr(c, t.p.pd, dm, 0, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(on_adapter, nullptr);
  EXPECT_EQ(ibv_rereg_mr(c, on_adapter, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_dereg_mr(c, on_adapter), 0);
}

CONFORMANCE(TC_R17) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  const std::uint64_t elsewhere = t.p.memory.allocate(16384);
  EXPECT_EQ(ibv_rereg_mr(c, t.there.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, elsewhere, 16384, 0), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EBUSY);
  t.expect_reads(t.there.addr, mw->rkey);
  t.expect_reads(t.there.addr, t.there.mr->rkey);
}

}  // namespace
}  // namespace hcasim::kit
