// The adapter's own translation cache in whole systems: every byte, with caches of one entry; pages asked for, granted,
// refused; pages taken back at every step of an access, with every burst into host memory watched; an adapter that answers too
// late.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <optional>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/soaks.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t page = 4096;
constexpr int lazy_rights = all_rights | IBV_ACCESS_ON_DEMAND;

system_config with_ats(system_config c) {
  for (node_config& n : c.nodes) n.iommu.enabled = n.hca.atc.enabled = true;
  return c;
}

system_config with_tiny_ats(system_config c) {
  c = with_ats(std::move(c));
  for (node_config& n : c.nodes) {
    n.iommu.entries = 2;
    n.iommu.ways = 1;
    n.iommu.node_entries = 1;
    n.iommu.walkers = 1;
    n.hca.atc.entries = n.hca.atc.ways = 1;
    n.hca.atc.requests = 1;
  }
  return c;
}

// Pages of on-demand regions come and go in the IOMMU's table.
system_config paged_by_iommu(system_config c) {
  c = with_ats(std::move(c));
  for (node_config& n : c.nodes) n.driver.on_demand = driver::on_demand_mode::iommu;
  return c;
}

void expect_translated_by_adapter(world& w) {
  for (std::size_t i = 0; i < w.sys().nodes(); ++i) {
    node& n = w.at(i);
    EXPECT_GT(statistic_of(*n.iommu, "translated"), 1000) << "everything is translated by the adapter";
    EXPECT_EQ(statistic_of(*n.iommu, "bursts"), 0);
    EXPECT_EQ(statistic_of(*n.iommu, "faults"), 0);
    EXPECT_GT(statistic_of(*n.hca.atc, "hits"), 10);
    EXPECT_TRUE(n.iommu->idle());
    EXPECT_TRUE(n.hca.atc->idle());
  }
}

TEST(ats, every_byte_arrives) {
  world w(with_tiny_ats(world::two_nodes()));
  every_byte_arrives(w, 600);
  expect_translated_by_adapter(w);
}

TEST(ats, no_byte_lands_under_a_closed_window) {
  world w(with_ats(world::two_nodes()));
  no_byte_lands_under_a_closed_window(w);
  expect_translated_by_adapter(w);
}

TEST(ats, rights_change_in_six_ways) {
  world w(with_ats(world::two_nodes()));
  rights_change_in_six_ways(w, 100);
  expect_translated_by_adapter(w);
  EXPECT_GT(statistic_of(*w.at(1).hca.atc, "invalidations"), 50);
  EXPECT_EQ(w.at(1).device().counters().ats_timeouts.value(), 0U);
}

void page_by_adapter_or_iommu(const system_config& config, bool by_iommu) {
  world w(config);
  pages_come_and_go(w);
  expect_translated_by_adapter(w);
  const atc& owner = *w.at(1).hca.atc;
  EXPECT_EQ(statistic_of(owner, "page_requests") > 50, by_iommu);
  EXPECT_EQ(statistic_of(w.at(1).hca.responder, "page_faults") == 0, by_iommu);
  EXPECT_GT(statistic_of(owner, "invalidations"), 50);
  const driver::driver_statistics& d = w.at(1).device().counters();
  EXPECT_EQ(d.dma_maps.value(), d.dma_unmaps.value());
  EXPECT_EQ(d.pages_lent.value(), d.pages_returned.value());
}

TEST(ats, pages_that_the_adapter_asks_its_tables_for) {
  page_by_adapter_or_iommu(with_tiny_ats(world::two_nodes()), false);
}

TEST(ats, pages_that_the_adapter_asks_the_iommu_for) {
  page_by_adapter_or_iommu(paged_by_iommu(world::two_nodes()), true);
}

TEST(ats, one_page_request_at_a_time_and_caches_of_one_entry) {
  system_config c = paged_by_iommu(with_tiny_ats(world::two_nodes()));
  for (node_config& n : c.nodes) n.hca.atc.page_requests = 1;
  page_by_adapter_or_iommu(c, true);
}

// More page requests than the queue has room for: they are told to try again, and do.
TEST(ats, a_queue_of_one_page_request) {
  system_config c = paged_by_iommu(world::two_nodes());
  for (node_config& n : c.nodes) n.driver.log_page_requests = 0;
  world w(c);
  pages_come_and_go(w, 5);
  EXPECT_GT(statistic_of(*w.at(1).iommu, "page_overflows"), 0);
  EXPECT_GT(statistic_of(*w.at(1).hca.atc, "page_retries"), 0);
  EXPECT_EQ(statistic_of(*w.at(1).hca.atc, "refused"), 0);
}

// ---- pages taken back at every step

// Frames that the operating system has taken back, and what still moved there.
class frame_guard final : public dma_monitor {
 public:
  explicit frame_guard(hcasim::host& h) : host_(h) { host_.observe_dma(this); }
  ~frame_guard() override { host_.observe_dma(nullptr); }
  frame_guard(const frame_guard&) = delete;
  frame_guard& operator=(const frame_guard&) = delete;

  void forbid(std::uint64_t frame) { forbidden_[frame & ~(page - 1)] = now(); }
  void allow(std::uint64_t frame) { forbidden_.erase(frame & ~(page - 1)); }
  void dma(bool, std::uint64_t address, std::uint64_t bytes, ps t) override {
    const auto it = forbidden_.find(address & ~(page - 1));
    if (it != forbidden_.end() && t > it->second) late_ += bytes;
    ++seen_;
  }
  [[nodiscard]] std::uint64_t late() const { return late_; }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  hcasim::host& host_;
  std::map<std::uint64_t, ps> forbidden_;
  std::uint64_t late_ = 0;
  std::uint64_t seen_ = 0;
};

struct loop {
  explicit loop(cpu& thread, node& on) : p(thread, on) {
    a = p.create_qp();
    b = p.create_qp();
    EXPECT_EQ(p.connect(a, p.address_of(b)), 0);
    EXPECT_EQ(p.connect(b, p.address_of(a)), 0);
    here = p.allocate(4 * page);
    p.fill(here.addr, here.length, 9);
  }
  region lazy(std::uint64_t pages, bool writable = true) {
    region r;
    r.length = pages * page;
    r.addr = p.memory.allocate(r.length, page_policy::scattered, 0, writable);
    r.mr = ibv_reg_mr(p.c, p.pd, r.addr, r.length, writable ? lazy_rights : lazy_rights & ~IBV_ACCESS_MW_BIND);
    EXPECT_NE(r.mr, nullptr);
    return r;
  }
  ibv_wc transfer(ibv_wr_opcode opcode, const region& far, std::uint32_t bytes, std::uint64_t offset = 0) {
    return complete(p.c, a,
                    {.opcode = opcode,
                     .id = 4,
                     .sges = {{here.addr, bytes, here.mr->lkey}},
                     .remote = far.addr + offset,
                     .rkey = far.mr->rkey});
  }
  process_context p;
  ibv_qp* a;
  ibv_qp* b;
  region here;
};

// A WRITE and a READ of a page, by the region's key or by a window, and the page goes to another frame `step` later: the bytes
// are right, and nothing moved in the old frame once the operating system had it back.
void take_back_at_every_step(bool by_iommu, ps each, int steps, bool by_window = false) {
  world w(by_iommu ? paged_by_iommu(world::one_node()) : with_ats(world::one_node()));
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    loop l(c, n);
    region r = by_iommu ? l.lazy(1) : l.p.allocate(page);
    if (!by_iommu) {
      EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
      r.mr = ibv_reg_mr(c, l.p.pd, r.addr, page, lazy_rights & ~IBV_ACCESS_MW_BIND);
      ASSERT_NE(r.mr, nullptr);
    }
    ibv_mw* const mw = by_window ? ibv_alloc_mw(c, l.p.pd, IBV_MW_TYPE_1) : nullptr;
    if (mw) {
      ibv_mw_bind bind{.wr_id = 6, .send_flags = IBV_SEND_SIGNALED, .bind_info = {r.mr, r.addr, page, qp_rights}};
      ASSERT_EQ(ibv_bind_mw(c, l.b, mw, &bind), 0);
      ASSERT_EQ(next_completion(c, l.p.cq)->status, IBV_WC_SUCCESS);
    }
    const std::uint32_t key = mw ? mw->rkey : r.mr->rkey;
    {
      frame_guard guard(n.host);
      for (int step = 0; step < steps; ++step) {
        SCOPED_TRACE(step);
        l.p.fill(l.here.addr, page, static_cast<std::uint8_t>(step + 1));
        const std::uint64_t frame = l.p.memory.translate(r.addr);
        ASSERT_EQ(post(c, l.a, {.id = 1, .sges = {{l.here.addr, 2048, l.here.mr->lkey}}, .remote = r.addr, .rkey = key}), 0);
        ASSERT_EQ(post(c, l.a,
                       {.opcode = IBV_WR_RDMA_READ,
                        .id = 2,
                        .sges = {{l.here.addr + 2 * page, 2048, l.here.mr->lkey}},
                        .remote = r.addr,
                        .rkey = key}),
                  0);
        c.spend(each * step);
        c.sync();
        ASSERT_EQ(l.p.memory.migrate(c, r.addr, page), 0);
        c.sync();
        const std::uint64_t next = l.p.memory.translate(r.addr);
        ASSERT_NE(next, frame);
        guard.allow(next);
        guard.forbid(frame);
        for (int i = 0; i < 2; ++i) {
          const auto wc = next_completion(c, l.p.cq);
          ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
        }
        ASSERT_EQ(l.p.bytes(r.addr, 2048), l.p.bytes(l.here.addr, 2048));
        ASSERT_EQ(l.p.bytes(l.here.addr + 2 * page, 2048), l.p.bytes(l.here.addr, 2048));
      }
      EXPECT_EQ(guard.late(), 0U) << "bytes moved in a frame that was given back";
      EXPECT_GT(guard.seen(), 100U);
    }
    if (mw) {
      EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
    }
    EXPECT_EQ(statistic_of(*n.iommu, "faults"), 0);
    if (by_iommu) {
      EXPECT_GT(statistic_of(*n.hca.atc, "page_requests"), steps / 2);
      EXPECT_GT(statistic_of(*n.hca.atc, "stale_answers") + statistic_of(*n.hca.atc, "drained") +
                    statistic_of(*n.hca.atc, "retranslated"),
                0)
          << "some of them met";
    }
    EXPECT_TRUE(l.p.close());
  }}));
}

TEST(ats, a_page_of_the_iommu_taken_back_at_every_step) {
  take_back_at_every_step(true, 100_ns, 160);
}

TEST(ats, a_page_of_the_iommu_taken_back_under_a_window_at_every_step) {
  take_back_at_every_step(true, 100_ns, 160, true);
}

TEST(ats, a_page_of_the_adapter_taken_back_at_every_step) {
  take_back_at_every_step(false, 100_ns, 100);
}

// ---- refused

// A page that is not mapped, or only for reading. What is read ends as the table of access errors says; a posted write is lost,
// as behind any IOMMU, and never lands anywhere else.
TEST(ats, a_page_that_no_process_has) {
  world w(paged_by_iommu(world::one_node()));
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    loop l(c, n);
    region r = l.lazy(4);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 64).status, IBV_WC_SUCCESS);
    ASSERT_EQ(l.p.memory.unmap(c, r.addr), 0);
    EXPECT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 64).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(n.device().counters().page_faults_refused.value(), 1U);
    EXPECT_EQ(statistic_of(*n.hca.atc, "pages_refused"), 1);
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
    EXPECT_TRUE(l.p.close());
  }}));
}

// Without any on-demand region, the translation cache is the first that asks the driver for a page.
void an_address_that_is_not_mapped(ibv_wr_opcode opcode, bool local, ibv_wc_status expected) {
  world w(with_ats(world::one_node()));
  ASSERT_TRUE(w.run({[=](cpu& c, node& n) {
    constexpr std::uint64_t nowhere = 0x300'0000'0000;
    loop l(c, n);
    ibv_mr* const all = hcax_alloc_physical_mr(c, l.p.pd, all_rights & ~IBV_ACCESS_MW_BIND);
    ASSERT_NE(all, nullptr);
    const region far = l.p.allocate(page);
    request r{
        .opcode = opcode, .id = 3, .sges = {{l.here.addr, 64, l.here.mr->lkey}}, .remote = far.addr, .rkey = far.mr->rkey};
    if (local) {
      r.sges = {{nowhere, 64, all->lkey}};
    } else {
      r.remote = nowhere;
      r.rkey = all->rkey;
    }
    ASSERT_EQ(post(c, l.a, r), 0);
    const auto wc = next_completion(c, l.p.cq, 10_ms);
    ASSERT_TRUE(wc.has_value()) << "no completion";
    EXPECT_EQ(wc->status, expected);
    EXPECT_EQ(statistic_of(*n.hca.atc, "pages_refused"), 1);
    // The adapter goes on.
    ASSERT_EQ(l.p.reset(l.a), 0);
    ASSERT_EQ(l.p.reset(l.b), 0);
    ASSERT_EQ(l.p.connect(l.a, l.p.address_of(l.b)), 0);
    ASSERT_EQ(l.p.connect(l.b, l.p.address_of(l.a)), 0);
    EXPECT_EQ(l.transfer(IBV_WR_RDMA_WRITE, far, 64).status, IBV_WC_SUCCESS);
    EXPECT_EQ(l.transfer(IBV_WR_RDMA_READ, far, 64).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(c, all), 0);
    EXPECT_TRUE(l.p.close());
    EXPECT_EQ(n.device().counters().failures.value(), 0U);
  }}));
}

// A posted write is lost, as behind any IOMMU.
TEST(ats, a_write_to_an_address_that_is_not_mapped) {
  an_address_that_is_not_mapped(IBV_WR_RDMA_WRITE, false, IBV_WC_SUCCESS);
}
TEST(ats, a_read_of_an_address_that_is_not_mapped) {
  an_address_that_is_not_mapped(IBV_WR_RDMA_READ, false, IBV_WC_REM_ACCESS_ERR);
}
TEST(ats, a_write_from_an_address_that_is_not_mapped) {
  an_address_that_is_not_mapped(IBV_WR_RDMA_WRITE, true, IBV_WC_LOC_PROT_ERR);
}

TEST(ats, read_only_pages_are_granted_for_reading) {
  world w(paged_by_iommu(world::one_node()));
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    loop l(c, n);
    region r = l.lazy(2, false);
    l.p.fill(r.addr, 64, 21);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 64).status, IBV_WC_SUCCESS);
    EXPECT_EQ(l.p.bytes(l.here.addr, 64), l.p.bytes(r.addr, 64));
    const auto before = l.p.bytes(r.addr, 64);
    l.p.fill(l.here.addr, 64, 77);
    l.transfer(IBV_WR_RDMA_WRITE, r, 64);
    c.spend(100_us);
    c.sync();
    EXPECT_EQ(l.p.bytes(r.addr, 64), before) << "a page that is read-only was written";
    EXPECT_EQ(statistic_of(*n.hca.atc, "pages_refused"), 1);
    // Made writable, it is asked for again.
    EXPECT_EQ(l.p.memory.protect(c, r.addr, true), 0);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_WRITE, r, 64).status, IBV_WC_SUCCESS);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 64).status, IBV_WC_SUCCESS);
    EXPECT_EQ(l.p.load64(r.addr), l.p.load64(l.here.addr));
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
    EXPECT_TRUE(l.p.close());
  }}));
}

// Windows, prefetch, and what such a region cannot be.
TEST(ats, windows_and_prefetch_of_pages_that_the_iommu_lacks) {
  world w(paged_by_iommu(world::one_node()));
  ASSERT_TRUE(w.run({[](cpu& c, node& n) {
    loop l(c, n);
    region r = l.lazy(8);
    ibv_mw* mw = ibv_alloc_mw(c, l.p.pd, IBV_MW_TYPE_1);
    ASSERT_NE(mw, nullptr);
    ibv_mw_bind bind{};
    bind.wr_id = 6;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {r.mr, r.addr + page, page, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    ASSERT_EQ(ibv_bind_mw(c, l.b, mw, &bind), 0);
    ASSERT_EQ(next_completion(c, l.p.cq)->status, IBV_WC_SUCCESS);
    EXPECT_EQ(
        complete(c, l.a, {.id = 1, .sges = {{l.here.addr, 64, l.here.mr->lkey}}, .remote = r.addr + page, .rkey = mw->rkey})
            .status,
        IBV_WC_SUCCESS);
    EXPECT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 64, page).status, IBV_WC_SUCCESS);
    EXPECT_EQ(l.p.load64(r.addr + page), l.p.load64(l.here.addr));
    EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
    ibv_sge all{r.addr, static_cast<std::uint32_t>(r.length), r.mr->lkey};
    EXPECT_EQ(ibv_advise_mr(c, l.p.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &all, 1), 0);
    const double asked = statistic_of(*n.hca.atc, "page_requests");
    EXPECT_EQ(l.transfer(IBV_WR_RDMA_WRITE, r, 4 * page).status, IBV_WC_SUCCESS);
    EXPECT_EQ(statistic_of(*n.hca.atc, "page_requests"), asked) << "they are all there";
    EXPECT_EQ(ibv_reg_mr(c, l.p.pd, 0, ~std::uint64_t{0}, lazy_rights), nullptr) << "an implicit region";
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
    EXPECT_TRUE(l.p.close());
    EXPECT_EQ(n.device().counters().pages_lent.value(), n.device().counters().pages_returned.value());
  }}));
}

TEST(ats, adapters_of_rtl_have_on_demand_regions_of_the_iommu) {
  system_config c = paged_by_iommu(world::one_node());
  c.nodes[0].hca.key_check.implementation = implementation::rtl;
  c.nodes[0].hca.page_walker.implementation = implementation::rtl;
  world w(c);
  ASSERT_TRUE(w.run({[](cpu& thread, node& n) {
    loop l(thread, n);
    region r = l.lazy(4);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_WRITE, r, 3 * page).status, IBV_WC_SUCCESS);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_READ, r, 8).status, IBV_WC_SUCCESS);
    EXPECT_EQ(l.p.bytes(r.addr + 8, 2 * page), l.p.bytes(l.here.addr + 8, 2 * page));
    EXPECT_EQ(statistic_of(*n.hca.atc, "page_requests"), 3);
    EXPECT_EQ(ibv_dereg_mr(thread, r.mr), 0);
    EXPECT_TRUE(l.p.close());
  }}));
}

// ---- an adapter that answers too late

// The driver takes its translations away from it before the page goes to others: accesses fail, and none lands in the old
// frame.
TEST(ats, an_adapter_that_does_not_forget_in_time_may_not_use_what_it_knows) {
  system_config c = paged_by_iommu(world::one_node());
  c.nodes[0].iommu.invalidation_timeout = 1_us;
  c.nodes[0].pcie.link_latency = 3_us;
  c.nodes[0].driver.command_timeout = 50_ms;
  world w(c);
  EXPECT_TRUE(w.run({[&](cpu& thread, node& n) {
    loop l(thread, n);
    region r = l.lazy(1);
    ASSERT_EQ(l.transfer(IBV_WR_RDMA_WRITE, r, 64).status, IBV_WC_SUCCESS);
    frame_guard guard(n.host);
    const std::uint64_t frame = l.p.memory.translate(r.addr);
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_EQ(
          post(thread, l.a, {.id = i, .sges = {{l.here.addr, 2048, l.here.mr->lkey}}, .remote = r.addr, .rkey = r.mr->rkey}),
          0);
    }
    thread.spend(15_us);
    thread.sync();
    ASSERT_EQ(l.p.memory.migrate(thread, r.addr, page), 0);
    thread.sync();
    guard.forbid(frame);
    thread.spend(500_us);
    thread.sync();
    EXPECT_EQ(n.device().counters().ats_timeouts.value(), 1U);
    EXPECT_EQ(guard.late(), 0U);
    EXPECT_GT(statistic_of(*n.iommu, "faults_timeout"), 0);
    // It cannot answer the driver either, which cuts it off and takes everything back.
    EXPECT_EQ(ibv_dereg_mr(thread, r.mr), 0);
    EXPECT_EQ(n.device().counters().failures.value(), 1U);
    EXPECT_TRUE(l.p.close());
    EXPECT_EQ(guard.late(), 0U);
  }}));
}

// ---- the end of a simulation

// Its parts are destroyed while bursts wait in the cache for a page, and others are on the link.
TEST(ats, a_system_may_end_while_bursts_wait) {
  system_config config = paged_by_iommu(world::one_node());
  config.nodes[0].driver.page_fault = 100_ms;
  std::size_t held = 0;
  {
    world w(config);
    EXPECT_FALSE(w.run({[&held](cpu& c, node& n) {
      loop l(c, n);
      region r = l.lazy(4);
      for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
        for (std::uint64_t i = 0; i < 4; ++i) {
          EXPECT_EQ(post(c, l.a,
                         {.opcode = opcode,
                          .id = i,
                          .sges = {{l.here.addr, 2048, l.here.mr->lkey}},
                          .remote = r.addr + i * page,
                          .rkey = r.mr->rkey}),
                    0);
        }
      }
      c.spend(50_us);
      c.sync();
      held = static_cast<std::size_t>(statistic_of(*n.hca.atc, "held"));
      sc_core::sc_stop();
      (void)next_completion(c, l.p.cq, never);
    }}));
  }
  EXPECT_GT(held, 0U) << "no burst waited";
}

TEST(ats, needs_an_iommu) {
  system_config c = world::one_node();
  c.nodes[0].hca.atc.enabled = true;
  EXPECT_THROW(world w(c), std::invalid_argument);
}

}  // namespace
}  // namespace hcasim::kit
