// Group TC-T: translation [E1 to E8]. The bytes are looked for in the frames, not through the address space.
#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {
namespace {

hca_mrc entry_of(cpu& c, const region& r) {
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, r.mr, &m), 0);
  return m;
}

CONFORMANCE(TC_T01) {
  base_case t(c, n);
  const std::uint64_t at = t.there.addr + 4000;
  EXPECT_EQ(t.write(at, t.there.mr->rkey, 8192).status, IBV_WC_SUCCESS);
  const auto sent = t.p.bytes(t.here.addr, 8192);
  for (std::uint64_t i = 0; i < 8192; i += 61) {
    EXPECT_EQ(n.host.memory_bytes().get<std::uint8_t>(t.p.memory.translate(at + i)), sent[i]) << i;
  }
  EXPECT_NE(t.p.memory.translate(t.there.addr) + 4096, t.p.memory.translate(t.there.addr + 4096)) << "the frames are scattered";
}

CONFORMANCE(TC_T02) {
  base_case t(c, n);
  const region r = t.p.allocate(2_MiB, all_rights, page_policy::huge_2m);
  const hca_mrc m = entry_of(c, r);
  EXPECT_EQ(m.page_shift, 21);
  EXPECT_EQ(m.levels, 1);
  EXPECT_EQ(m.table_va, r.addr);
  EXPECT_EQ(t.write(r.addr + 2_MiB - 64, r.mr->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(r.addr + 2_MiB - 64, 64), t.p.bytes(t.here.addr, 64));
}

// Three adjacent frames, a hole in physical memory, two more: one table of 4 KiB entries.
CONFORMANCE(TC_T04) {
  if (n.iommu) GTEST_SKIP() << "about physical addresses";
  base_case t(c, n);
  const std::uint64_t frames = 0x10000000;
  const virtual_memory::frame_run runs[] = {{frames, 12288}, {frames + 0x10000, 8192}};
  const std::uint64_t va = 0x600000000000;
  ASSERT_TRUE(t.p.memory.map(va, runs));
  ibv_mr* mr = ibv_reg_mr(c, t.p.pd, va, 20480, all_rights);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(entry_of(c, {va, 20480, mr}).page_shift, 12);
  EXPECT_EQ(t.write(va, mr->rkey, 16384).status, IBV_WC_SUCCESS);
  const auto sent = t.p.bytes(t.here.addr, 16384);
  for (std::uint64_t i = 0; i < 16384; i += 1024) {
    const std::uint64_t at = i < 12288 ? frames + i : frames + 0x10000 + (i - 12288);
    EXPECT_EQ(n.host.memory_bytes().get<std::uint8_t>(at), sent[i]) << i;
  }
}

CONFORMANCE(TC_T05) {
  base_case t(c, n);
  const region r = t.p.allocate(1_GiB, all_rights, page_policy::huge_1g);
  EXPECT_EQ(entry_of(c, r).page_shift, 30);
  const std::uint64_t last = r.addr + 1_GiB - 8;
  t.p.store64(last, 5);
  EXPECT_EQ(t.add(last, r.mr->rkey, 2).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.load64(last), 7U);
}

CONFORMANCE(TC_T06) {
  if (n.iommu) GTEST_SKIP() << "about physical addresses";
  base_case t(c, n);
  for (const auto& [pages, levels] : {std::pair{512U, 1}, {513U, 2}, {512U * 512, 2}, {512U * 512 + 1, 3}}) {
    const region r = t.p.allocate(pages * 4096ULL);
    EXPECT_EQ(entry_of(c, r).levels, levels) << pages;
    EXPECT_EQ(t.write(r.addr + r.length - 64, r.mr->rkey).status, IBV_WC_SUCCESS);
    EXPECT_EQ(t.p.bytes(r.addr + r.length - 64, 64), t.p.bytes(t.here.addr, 64));
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
  }
}

CONFORMANCE(TC_T13) {
  if (n.iommu) GTEST_SKIP() << "about physical addresses";
  base_case t(c, n);
  EXPECT_GT(t.p.memory.translate(t.there.addr), 1ULL << 32);
  const ibv_mr* all = hcax_alloc_physical_mr(c, t.p.pd, all_rights & ~IBV_ACCESS_MW_BIND);
  const std::uint64_t far = (1ULL << 52) + 0x1238;
  EXPECT_EQ(t.write(far, all->rkey, 8).status, IBV_WC_SUCCESS);
  EXPECT_EQ(n.host.memory_bytes().get<std::uint64_t>(far), t.p.load64(t.here.addr));
  EXPECT_EQ(n.host.memory_bytes().get<std::uint64_t>(far & 0xffffffffffff), 0U);
}

CONFORMANCE(TC_T14) {
  base_case t(c, n);
  const std::uint64_t buffer = t.p.memory.allocate(8192);
  t.p.fill(buffer, 8192, 3);
  ibv_mr* mr = ibv_reg_mr_iova(c, t.p.pd, buffer + 0xf00, 0x300, 0x1f00, all_rights);
  ASSERT_NE(mr, nullptr);
  for (std::uint64_t va = 0x1f00; va < 0x2200; ++va) {
    ASSERT_EQ(t.read(va, mr->rkey, 1).status, IBV_WC_SUCCESS) << va;
    ASSERT_EQ(t.p.bytes(t.here.addr, 1), t.p.bytes(buffer + 0xf00 + (va - 0x1f00), 1)) << va;
  }
  t.expect_denied([&] { return t.read(0x1eff, mr->rkey, 1); }, IBV_WC_REM_ACCESS_ERR, buffer);
  t.expect_denied([&] { return t.read(0x2200, mr->rkey, 1); }, IBV_WC_REM_ACCESS_ERR, buffer);
  t.expect_denied([&] { return t.read(0x21ff, mr->rkey, 2); }, IBV_WC_REM_ACCESS_ERR, buffer);
}

}  // namespace
}  // namespace hcasim::kit
