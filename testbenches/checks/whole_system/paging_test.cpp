// On-demand paging and the IOMMU in whole systems: every byte, with caches and tables made tiny, on a lossy link.
#include <gtest/gtest.h>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/on_demand.h"
#include "testbenches/scenarios/soaks.h"

namespace hcasim::kit {
namespace {

system_config behind_iommu() {
  system_config c = world::two_nodes();
  for (node_config& n : c.nodes) n.iommu.enabled = true;
  return c;
}

system_config behind_tiny_iommu() {
  system_config c = behind_iommu();
  for (node_config& n : c.nodes) {
    n.iommu.entries = 2;
    n.iommu.ways = 1;
    n.iommu.node_entries = 1;
    n.iommu.walkers = 1;
  }
  return c;
}

void expect_all_translated(world& w) {
  for (std::size_t i = 0; i < w.sys().nodes(); ++i) {
    const iommu& u = *w.at(i).iommu;
    EXPECT_GT(statistic_of(u, "bursts"), 1000) << "everything goes through it";
    EXPECT_EQ(statistic_of(u, "faults"), 0) << "nothing is used that was not mapped";
    EXPECT_TRUE(u.idle());
  }
}

TEST(paging, every_byte_arrives_while_pages_come_and_go) {
  world w(world::two_nodes());
  const paging_outcome r = pages_come_and_go(w);
  ASSERT_EQ(r.touches.size(), 4U);
  for (const touch_row& t : r.touches) {
    EXPECT_GT(t.first, t.again + 5_us) << t.what << ": a fault costs at least what serving it costs";
    EXPECT_LT(t.again, t.pinned + 1_us) << t.what << ": a page that is there costs what a pinned one costs";
  }
  for (const share_row& s : r.shares) {
    if (s.way == paging_way::on_demand) {
      EXPECT_EQ(s.faults, s.touched);
    } else {
      EXPECT_EQ(s.faults, 0) << paging_ways[static_cast<unsigned>(s.way)];
    }
  }
  EXPECT_GT(r.take_loaded.percentile(50), r.take_idle.percentile(1));
  const auto prefetching = [&](double share) {
    for (const share_row& s : r.shares) {
      if (s.way == paging_way::prefetched && s.share == share) return s.prepare;
    }
    throw std::logic_error("no such share");
  };
  EXPECT_LT(prefetching(1), prefetching(0.1)) << "the whole buffer is one range, a tenth of its pages are several";
}

TEST(paging, every_byte_arrives_on_a_lossy_link) {
  system_config c = world::two_nodes();
  c.link.loss = 0.01;
  world w(c);
  pages_come_and_go(w);
}

TEST(paging, every_byte_arrives_behind_an_iommu) {
  world w(behind_iommu());
  pages_come_and_go(w);
  expect_all_translated(w);
}

TEST(paging, every_byte_arrives_behind_a_tiny_iommu_with_caches_of_one_entry) {
  system_config c = behind_tiny_iommu();
  for (node_config& n : c.nodes) {
    n.hca.mrc_cache.sets = n.hca.mrc_cache.ways = 1;
    n.hca.page_walker.leaf_sets = n.hca.page_walker.leaf_ways = 1;
    n.hca.page_walker.upper_entries = 1;
  }
  world w(c);
  pages_come_and_go(w);
  expect_all_translated(w);
}

TEST(behind_iommu, every_byte_arrives) {
  world w(behind_tiny_iommu());
  every_byte_arrives(w, 600);
  expect_all_translated(w);
}

TEST(behind_iommu, no_byte_lands_under_a_closed_window) {
  world w(behind_iommu());
  no_byte_lands_under_a_closed_window(w);
  expect_all_translated(w);
}

// Registration in six ways, among them parts of an address space that come and go. No way leaves a mapping in use, and all
// addresses come back.
TEST(behind_iommu, rights_change_in_six_ways) {
  world w(behind_iommu());
  rights_change_in_six_ways(w, 100);
  expect_all_translated(w);
  const driver::driver_statistics& owner = w.at(1).device().counters();
  EXPECT_EQ(owner.dma_maps.value(), owner.dma_unmaps.value());
  EXPECT_GT(owner.dma_maps.value(), 100U);
}

// The frames of a registration become one run of addresses, so that the adapter's pages may be larger than the host's.
TEST(behind_iommu, scattered_frames_become_large_pages) {
  system_config c = world::one_node();
  c.nodes[0].iommu.enabled = true;
  world w(c);
  ASSERT_TRUE(w.run({[](cpu& thread, node& n) {
    process_context p(thread, n);
    const std::uint64_t va = p.memory.allocate(4_MiB, page_policy::scattered, 0x600000000000);
    ASSERT_NE(va, 0U);
    ibv_mr* mr = ibv_reg_mr(thread, p.pd, va, 4_MiB, all_rights);
    ASSERT_NE(mr, nullptr);
    hca_mrc m{};
    ASSERT_EQ(hcax_query_mr(thread, mr, &m), 0);
    EXPECT_EQ(m.page_shift, 21);
    EXPECT_NE(p.memory.translate(va) + 4096, p.memory.translate(va + 4096));
    EXPECT_EQ(ibv_dereg_mr(thread, mr), 0);
    EXPECT_EQ(n.device().counters().dma_unmaps.value(), 1U);
  }}));
}

// The adapter's own rules would let a physical region reach everything; the IOMMU does not.
TEST(behind_iommu, the_adapter_may_not_use_a_physical_address) {
  system_config c = world::one_node();
  c.nodes[0].iommu.enabled = true;
  world w(c);
  ASSERT_TRUE(w.run({[](cpu& thread, node& n) {
    process_context p(thread, n);
    const qp_options o;
    ibv_qp* a = p.create_qp(o);
    ibv_qp* b = p.create_qp(o);
    ASSERT_EQ(p.connect(a, p.address_of(b, o), o), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a, o), o), 0);
    const region r = p.allocate(8192);
    const region from = p.allocate(4096);
    ibv_mr* all = hcax_alloc_physical_mr(thread, p.pd, all_rights & ~IBV_ACCESS_MW_BIND);
    ASSERT_NE(all, nullptr);
    p.store64(r.addr, 77);
    const std::uint64_t frame = p.memory.translate(r.addr);
    ASSERT_EQ(post(thread, a, {.id = 1, .sges = {{from.addr, 64, from.mr->lkey}}, .remote = frame, .rkey = all->rkey}), 0);
    ASSERT_TRUE(next_completion(thread, p.cq).has_value());
    thread.spend(10_us);
    EXPECT_EQ(p.load64(r.addr), 77U);
    EXPECT_EQ(statistic_of(*n.iommu, "faults"), 1);
  }}));
}

}  // namespace
}  // namespace hcasim::kit
