// WQEs and contexts of QPs that cannot be read: every request that was posted ends, once, in its order, however long its WQE
// is.
#include <gtest/gtest.h>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/faults/breaker.h"
#include "tlm/base/random.h"

namespace hcasim::faults {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

constexpr std::uint64_t requests = 12;

struct breakage {
  const char* name;
  const char* place;
  const char* what;

  friend std::ostream& operator<<(std::ostream& to, const breakage& b) { return to << b.name; }
};

const weakness& find(const std::vector<weakness>& all, const breakage& b) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const weakness& w) { return w.place == b.place && w.what().name == b.what; });
}

// Software is told of a CQ whose context cannot be read.
bool cq_is_broken(const process_context& p) {
  const auto& events = static_cast<const driver::process&>(*p.context).async_events;
  return std::any_of(events.begin(), events.end(), [](const ibv_async_event& e) { return e.event_type == IBV_EVENT_CQ_ERR; });
}

class unreadable : public ::testing::TestWithParam<breakage> {};

TEST_P(unreadable, every_request_ends_once_and_in_order) {
  system_config config;
  config.nodes.resize(1);
  config.nodes[0].hca.icm.check = icm_check::secded;
  config.nodes[0].hca.qpc_cache.sets = config.nodes[0].hca.qpc_cache.ways = 1;
  config.nodes[0].driver.health_period = 100_us;
  world w(config);
  const std::vector<weakness> all = weaknesses(w.sys());
  const weakness& weak = find(all, GetParam());
  random_stream random(1, "unreadable");
  std::uint32_t broken = 0;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
    for (int round = 0; round < 60; ++round) {
      while (n.device().dead()) {
        c.spend(10_us);
        c.sync();
      }
      process_context p(c, n);
      const region r = p.allocate(64_KiB);
      const qp_options options{.send_depth = requests, .sge = 8, .timeout = 4, .retry = 1};
      ibv_qp* const here = p.create_qp(options);
      ibv_qp* const there = p.create_qp();
      ASSERT_EQ(p.connect(here, p.address_of(there), options), 0);
      ASSERT_EQ(p.connect(there, p.address_of(here)), 0);
      const std::uint64_t strike = random.below(requests);
      for (std::uint64_t i = 0; i < requests; ++i) {
        if (i == strike) {
          c.sync();
          weak.unit->inject(weak.kind, {.count = 1 + random.below(3), .length = 0_ps, .draw = random.next()});
        }
        request q{.id = i, .sges = {}, .remote = r.addr + 32_KiB, .rkey = r.mr->rkey};
        q.sges.assign(1 + random.below(8), {r.addr, 64, r.mr->lkey});
        ASSERT_EQ(post(c, here, q), 0);
        c.spend(ps(static_cast<std::int64_t>(random.below(1'000'000))));
      }
      bool failed = false;
      bool told = false;
      for (std::uint64_t i = 0; i < requests && !told; ++i) {
        const auto wc = next_completion(c, p.cq, 20_ms);
        if (!wc || wc->wr_id != i) {
          c.spend(200_us);  // until the event is there
          c.sync();
          told = cq_is_broken(p);
          ASSERT_TRUE(told) << "round " << round << ": request " << i << " did not end";
        } else {
          EXPECT_TRUE(!failed || wc->status == IBV_WC_WR_FLUSH_ERR) << "round " << round << ": " << wc->status;
          failed |= wc->status != IBV_WC_SUCCESS;
        }
      }
      EXPECT_TRUE(told || !next_completion(c, p.cq, 100_us)) << "round " << round;
      broken += failed || told ? 1 : 0;
      weak.unit->withdraw();
      EXPECT_TRUE(p.close()) << "round " << round;
    }
  }}));
  EXPECT_GT(broken, 20U);
}

INSTANTIATE_TEST_SUITE_P(faults, unreadable,
                         ::testing::Values(breakage{"context", "node0.hca.dma_engine", "icm_two_bits"},
                                           breakage{"wqe", "node0.pcie", "poisoned_read"},
                                           breakage{"lost", "node0.pcie", "completion_timeout"}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace hcasim::faults
