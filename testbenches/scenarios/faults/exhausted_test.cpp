// A host without a free page: requests for pages are refused, releases are not, and nothing stays behind.
#include <gtest/gtest.h>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/kit/world.h"

namespace hcasim::faults {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

constexpr ps long_enough = 10_ms;

void exhaust(cpu& c, node& n) {
  n.host.inject(0, {.count = 1, .length = long_enough, .draw = 0});
  c.sync();
}

void recover(cpu& c) {
  c.spend(long_enough);
  c.sync();
}

class exhausted : public ::testing::TestWithParam<bool> {};

TEST_P(exhausted, allocations_are_refused_and_releases_succeed) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].iommu.enabled = GetParam();
  world w(config);
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region r = p.allocate(64_KiB);
    const region gone = p.allocate(64_KiB);
    ibv_qp* const qp = p.create_qp();
    ibv_qp* const gone_qp = p.create_qp();
    ASSERT_EQ(p.connect(qp, p.address_of(qp)), 0);
    const std::uint64_t bytes = p.memory.allocate(64_KiB);
    ASSERT_NE(bytes, 0U);
    const std::uint64_t pinned = p.memory.pinned_bytes();
    const fw_usage before = n.hca.command_unit.usage();

    exhaust(c, n);
    EXPECT_EQ(p.memory.allocate(4096), 0U);
    for (int i = 0; i < 3; ++i) {
      errno = 0;
      EXPECT_EQ(ibv_reg_mr(c, p.pd, bytes, 64_KiB, all_rights), nullptr);
      EXPECT_EQ(errno, ENOMEM);
      errno = 0;
      EXPECT_EQ(ibv_create_cq(c, p.context, 100, nullptr, nullptr, 0), nullptr);
      EXPECT_EQ(errno, ENOMEM);
      ibv_qp_init_attr init{};
      init.send_cq = init.recv_cq = p.cq;
      init.cap = {16, 16, 1, 1, 0};
      init.qp_type = IBV_QPT_RC;
      errno = 0;
      EXPECT_EQ(ibv_create_qp(c, p.pd, &init), nullptr);
      EXPECT_EQ(errno, ENOMEM);
      ibv_srq_init_attr srq{};
      srq.attr.max_wr = 16;
      srq.attr.max_sge = 1;
      errno = 0;
      EXPECT_EQ(ibv_create_srq(c, p.pd, &srq), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_EQ(p.memory.pinned_bytes(), pinned) << "no page stays pinned by what was refused";
    const fw_usage now = n.hca.command_unit.usage();
    EXPECT_EQ(now.qps, before.qps);
    EXPECT_EQ(now.cqs, before.cqs);
    EXPECT_EQ(now.mrs, before.mrs);
    EXPECT_EQ(now.table_bytes, before.table_bytes);
    // The objects that exist go on working, and can be given back.
    p.fill(r.addr, 64, 3);
    EXPECT_EQ(
        complete(c, qp, {.id = 1, .sges = {{r.addr, 64, r.mr->lkey}}, .remote = r.addr + 4096, .rkey = r.mr->rkey}).status,
        IBV_WC_SUCCESS);
    EXPECT_EQ(p.bytes(r.addr + 4096, 64), p.bytes(r.addr, 64));
    EXPECT_EQ(ibv_dereg_mr(c, gone.mr), 0);
    EXPECT_EQ(ibv_destroy_qp(c, gone_qp), 0);

    recover(c);
    ibv_mr* const mr = ibv_reg_mr(c, p.pd, bytes, 64_KiB, all_rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(complete(c, qp, {.id = 2, .sges = {{bytes, 64, mr->lkey}}, .remote = r.addr, .rkey = r.mr->rkey}).status,
              IBV_WC_SUCCESS);
    ibv_qp* const again = p.create_qp();
    EXPECT_NE(again, nullptr);
    EXPECT_TRUE(p.close());
    EXPECT_EQ(p.memory.pinned_bytes(), 0U);
  }}));
  for (const std::string& what : leak_check(w.sys())) ADD_FAILURE() << what;
}

TEST_P(exhausted, a_process_can_leave) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].iommu.enabled = GetParam();
  world w(config);
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region r = p.allocate(3_MiB);
    ibv_qp* const qp = p.create_qp();
    ASSERT_EQ(p.connect(qp, p.address_of(qp)), 0);
    exhaust(c, n);
    EXPECT_TRUE(p.close());
    EXPECT_EQ(p.memory.pinned_bytes(), 0U);
    EXPECT_EQ(n.hca.command_unit.usage().table_bytes, 0U);
    EXPECT_NE(r.addr, 0U);
  }}));
}

// A device is opened when there is memory for its tables.
TEST_P(exhausted, a_device_opens_later) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].iommu.enabled = GetParam();
  config.faults.push_back({.at = 0_ps, .where = "node0.host", .what = "memory_exhausted", .length = long_enough});
  hcasim::system s("system", config);
  int first = 0;
  int second = -1;
  s.at(0).host.run("program", [&](cpu& c) {
    c.spend(1_us);
    c.sync();
    first = s.at(0).device().open(c);
    c.spend(long_enough);
    c.sync();
    second = s.at(0).device().open(c);
    process_context p(c, s.at(0));
    const region r = p.allocate(8192);
    ibv_qp* const qp = p.create_qp();
    ASSERT_EQ(p.connect(qp, p.address_of(qp)), 0);
    EXPECT_EQ(
        complete(c, qp, {.id = 1, .sges = {{r.addr, 64, r.mr->lkey}}, .remote = r.addr + 4096, .rkey = r.mr->rkey}).status,
        IBV_WC_SUCCESS);
    EXPECT_TRUE(p.close());
  });
  run_simulation();
  EXPECT_EQ(first, ENOMEM);
  EXPECT_EQ(second, 0);
}

INSTANTIATE_TEST_SUITE_P(hosts, exhausted, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& i) { return i.param ? "iommu" : "plain"; });

}  // namespace
}  // namespace hcasim::faults
