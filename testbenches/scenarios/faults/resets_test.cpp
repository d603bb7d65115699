// The function is reset while a verb of memory management is under way: the device comes back and works, whatever moment that
// is, and wherever its translations are.
#include <gtest/gtest.h>

#include <cstdlib>

#include "firmware/abi/pci_config.h"
#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/left_over.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/faults/breaker.h"

namespace hcasim::faults {
namespace {

using namespace hcasim::kit;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t page = 4096;

enum class translations : std::uint8_t { physical, iommu, ats, ats_paged };

std::string name_of(translations m) {
  static constexpr const char* names[] = {"physical", "iommu", "ats", "ats_paged"};
  return names[static_cast<unsigned>(m)];
}

system_config config_of(translations m) {
  system_config c = world::one_node();
  node_config& n = c.nodes[0];
  n.driver.health_period = 100_us;
  n.driver.command_timeout = 500_us;
  n.iommu.enabled = m != translations::physical;
  n.hca.atc.enabled = m == translations::ats || m == translations::ats_paged;
  if (m == translations::ats_paged) n.driver.on_demand = driver::on_demand_mode::iommu;
  return c;
}

// Verbs that wait for the adapter, again and again; they fail when the device does, and the context is closed.
void register_and_change(cpu& c, node& n, translations m) {
  process_context p(c, n);
  ibv_qp* const a = p.create_qp();
  ibv_qp* const b = p.create_qp();
  if (p.connect(a, p.address_of(b)) == 0) (void)p.connect(b, p.address_of(a));
  const region fixed = p.allocate(4 * page);
  const std::uint64_t buffers = p.memory.allocate(8 * page, page_policy::scattered);
  const int lazy = m == translations::ats_paged ? IBV_ACCESS_ON_DEMAND : 0;
  const auto lost = [&] { return n.device().dead(); };
  while (!lost()) {
    ibv_mr* const mr = ibv_reg_mr(c, p.pd, buffers, 2 * page, all_rights | lazy);
    if (!mr) break;
    (void)post(c, a, {.id = 1, .sges = {{fixed.addr, 2 * page, fixed.mr->lkey}}, .remote = buffers, .rkey = mr->rkey});
    if (lazy == 0) {
      (void)ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, buffers + 2 * page, 2 * page, 0);
    } else {
      (void)p.memory.migrate(c, buffers, page);
    }
    x_result r{};
    const x_buffer first{buffers + 4 * page, page};
    const x_buffer second{buffers + 5 * page, page};
    if (x_register(c, p.pd, nullptr, {&first, 1}, all_rights, 0, &r) == 0) {
      (void)x_exchange(c, p.context, r.key, r.handle, {&second, 1}, &r);
      (void)x_teardown(c, p.context, r.key);
    }
    (void)next_completion(c, p.cq, 20_us);
    (void)ibv_dereg_mr(c, mr);
  }
  EXPECT_TRUE(p.close());
  EXPECT_EQ(p.memory.pinned_bytes(), 0U);
}

// The device as a process that opens it afterwards finds it.
void expect_works(cpu& c, node& n) {
  ASSERT_EQ(n.device().open(c), 0) << "the device does not come back";
  process_context p(c, n);
  ibv_qp* const a = p.create_qp();
  ibv_qp* const b = p.create_qp();
  ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
  ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
  const region here = p.allocate(4 * page);
  const region there = p.allocate(4 * page);
  p.fill(here.addr, here.length, 7);
  const request r{.id = 2, .sges = {{here.addr, 4 * page, here.mr->lkey}}, .remote = there.addr, .rkey = there.mr->rkey};
  EXPECT_EQ(complete(c, a, r).status, IBV_WC_SUCCESS);
  EXPECT_EQ(p.bytes(there.addr, there.length), p.bytes(here.addr, here.length));
  EXPECT_EQ(ibv_dereg_mr(c, there.mr), 0) << "an invalidation is answered";
  EXPECT_TRUE(p.close());
}

class reset_moments : public ::testing::TestWithParam<translations> {};

TEST_P(reset_moments, device_comes_back) {
  const translations m = GetParam();
  const int moments = std::getenv("HCASIM_FULL") ? 400 : 20;
  world w(config_of(m));
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    for (int k = 0; k < moments; ++k) {
      SCOPED_TRACE(k);
      const std::uint64_t failures = n.device().counters().failures.value();
      n.host.run("resetter", [k](cpu& thread) {
        thread.spend(ps{150'000'000 + std::int64_t{k} * 1'370'000});
        thread.sync();
        const std::uint32_t reset = PCI_FUNCTION_RESET;
        thread.mmio_write(PCI_CONFIG_WINDOW + PCI_EXPRESS_CONTROL, std::as_bytes(std::span(&reset, 1)));
      });
      register_and_change(c, n, m);
      ASSERT_EQ(n.device().counters().failures.value(), failures + 1);
      expect_works(c, n);
      ASSERT_EQ(n.device().counters().failures.value(), failures + 1) << "it has failed again";
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(n.device().counters().recoveries.value(), static_cast<std::uint64_t>(moments));
  }}));
  for (const std::string& what : left_over(w.sys())) ADD_FAILURE() << what;
}

INSTANTIATE_TEST_SUITE_P(machines, reset_moments,
                         ::testing::Values(translations::physical, translations::iommu, translations::ats,
                                           translations::ats_paged),
                         [](const ::testing::TestParamInfo<translations>& i) { return name_of(i.param); });

}  // namespace
}  // namespace hcasim::faults
