// Pages that come and go while something fails: each waiter for a page is told, and no page is given away that the adapter has.
#include <gtest/gtest.h>

#include "firmware/abi/pci_config.h"
#include "models/driver/device/access.h"
#include "models/driver/peer/dma_buf.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/faults/breaker.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim::faults {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

system_config one_that_checks() {
  system_config config;
  watch_closely(config);
  config.nodes.resize(1);
  config.nodes[0].hca.icm.check = icm_check::secded;
  return config;
}

struct lazy_pair {
  lazy_pair(cpu& thread, node& on) : p(thread, on) {
    constexpr int rights = (all_rights & ~IBV_ACCESS_MW_BIND) | IBV_ACCESS_ON_DEMAND;
    at = p.memory.allocate(size);
    mr = ibv_reg_mr(thread, p.pd, at, size, rights);
    qp = p.create_qp();
    EXPECT_EQ(p.connect(qp, p.address_of(qp)), 0);
  }
  // From one page into another.
  ibv_wc move(unsigned from, unsigned to) { return complete(p.c, qp, request_of(from, to)); }
  [[nodiscard]] request request_of(unsigned from, unsigned to) const {
    return {.id = 1, .sges = {{at + from * page, 64, mr->lkey}}, .remote = at + to * page, .rkey = mr->rkey};
  }
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t size = 1024 * page;  // two levels of tables
  process_context p;
  std::uint64_t at = 0;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
};

// The page is mapped and may be read; but the table that it belongs into is damaged once the adapter has asked for it.
TEST(on_demand, a_read_of_a_page_that_cannot_be_put_in_ends) {
  world w(one_that_checks());
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    lazy_pair t(c, n);
    ASSERT_NE(t.mr, nullptr);
    EXPECT_EQ(t.move(0, 100).status, IBV_WC_SUCCESS);
    const auto faults = [&] { return statistic_of(n.hca.requester, "page_faults"); };
    const double before = faults();
    ASSERT_EQ(post(c, t.qp, t.request_of(50, 101)), 0);
    while (faults() == before) c.spend(100_ns), c.sync();
    physical_memory& m = n.host.memory_bytes();
    const auto entry = m.get<hca_mrc>(n.device().areas().mrc_base + hca_key_index(t.mr->lkey) * sizeof(hca_mrc));
    ASSERT_EQ(entry.levels, 2);
    m.put(entry.table, m.get<std::uint64_t>(entry.table) ^ 0x3000);
    const auto wc = next_completion(c, t.p.cq, 5_ms);
    ASSERT_TRUE(wc.has_value()) << "the waiter was not told";
    EXPECT_EQ(wc->status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(n.device().counters().failures.value(), 0U);
    EXPECT_TRUE(t.p.close());
  }}));
}

// The key's entry is lost, so that the adapter can take no page of it out: it is cut off before the page goes.
TEST(on_demand, a_page_that_cannot_be_taken_back_costs_the_device) {
  world w(one_that_checks());
  EXPECT_TRUE(w.run({[&w](cpu& c, node& n) {
    lazy_pair t(c, n);
    ASSERT_NE(t.mr, nullptr);
    EXPECT_EQ(t.move(0, 100).status, IBV_WC_SUCCESS);
    for (const weakness& x : weaknesses(w.sys())) {
      if (x.what().name == "icm_two_bits") x.unit->inject(x.kind, {.count = 1, .draw = 5});
    }
    EXPECT_EQ(t.p.memory.migrate(c, t.at + 100 * lazy_pair::page, lazy_pair::page), 0);
    EXPECT_EQ(n.device().counters().failures.value(), 1U);
    ASSERT_EQ(n.device().open(c), 0) << "and it comes back";
    EXPECT_TRUE(t.p.close());
  }}));
}

// It does not come back; but it is cut off all the same, so that its pages can go and its context can be closed.
TEST(on_demand, a_page_that_cannot_be_taken_back_costs_a_device_that_stays_dead) {
  system_config config = one_that_checks();
  config.nodes[0].driver.recoveries = 0;
  world w(config);
  EXPECT_TRUE(w.run({[&w](cpu& c, node& n) {
    lazy_pair t(c, n);
    ASSERT_NE(t.mr, nullptr);
    EXPECT_EQ(t.move(0, 100).status, IBV_WC_SUCCESS);
    const std::uint64_t to = t.at + 100 * lazy_pair::page;
    const std::uint64_t frame = t.p.memory.translate(to);
    for (const weakness& x : weaknesses(w.sys())) {
      if (x.what().name == "icm_two_bits") x.unit->inject(x.kind, {.count = 1, .draw = 5});
    }
    EXPECT_EQ(t.p.memory.migrate(c, to, lazy_pair::page), 0);
    EXPECT_NE(t.p.memory.translate(to), frame);
    const auto command = driver::read_register<std::uint32_t>(c, PCI_CONFIG_WINDOW + PCI_COMMAND);
    EXPECT_EQ(command & PCI_BUS_MASTER, 0U) << "the page went while the adapter could still write to it";
    EXPECT_EQ(n.device().counters().failures.value(), 1U);
    EXPECT_EQ(n.device().open(c), ENODEV);
    EXPECT_TRUE(t.p.close());
  }}));
}

// Host memory as a dma-buf, which its exporter moves at will.
struct exported final : driver::peer::dma_buf {
  exported(std::uint64_t at, std::uint64_t bytes) : dma_buf(bytes), physical(at) {}
  int map(cpu& /*c*/, driver::peer::sg_table& sg) override {
    sg = {{physical, size()}};
    ++maps;
    return 0;
  }
  void unmap(cpu& /*c*/, driver::peer::sg_table& sg) override {
    sg.clear();
    --maps;
  }
  int move(cpu& c) {
    reservation().lock(c);
    const int error = move_notify(c);
    reservation().unlock();
    return error;
  }
  std::uint64_t physical;
  int maps = 0;
};

// The exporter is told when no access reaches its memory any more, as a process is of its pages.
TEST(on_demand, a_dma_buf_that_cannot_be_taken_back_costs_the_device) {
  world w(one_that_checks());
  EXPECT_TRUE(w.run({[&w](cpu& c, node& n) {
    lazy_pair t(c, n);
    constexpr std::uint64_t bytes = 16 * lazy_pair::page;
    constexpr std::uint64_t begin = 0x10000;
    const auto buffer = std::make_shared<exported>(n.host.reserve_physical(bytes, lazy_pair::page), bytes);
    ASSERT_NE(buffer->physical, 0U);
    const int fd = hcax_install_dma_buf(t.p.context, buffer);
    ibv_mr* mr = ibv_reg_dmabuf_mr(c, t.p.pd, 0, bytes, begin, fd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(complete(c, t.qp, {.id = 1, .sges = {{t.at, 64, t.mr->lkey}}, .remote = begin, .rkey = mr->rkey}).status,
              IBV_WC_SUCCESS);
    EXPECT_EQ(buffer->move(c), 0) << "nothing is wrong yet";
    EXPECT_EQ(n.device().counters().failures.value(), 0U);
    EXPECT_EQ(complete(c, t.qp, {.id = 2, .sges = {{t.at, 64, t.mr->lkey}}, .remote = begin, .rkey = mr->rkey}).status,
              IBV_WC_SUCCESS);
    EXPECT_EQ(buffer->maps, 1);
    for (const weakness& x : weaknesses(w.sys())) {
      if (x.what().name == "icm_two_bits") x.unit->inject(x.kind, {.count = 1, .draw = 5});
    }
    EXPECT_EQ(buffer->move(c), 0);
    EXPECT_EQ(buffer->maps, 0);
    EXPECT_EQ(n.device().counters().failures.value(), 1U);
    ASSERT_EQ(n.device().open(c), 0) << "and it comes back";
    EXPECT_TRUE(t.p.close());
    EXPECT_EQ(buffer->importers(), 0U);
  }}));
}

}  // namespace
}  // namespace hcasim::faults
