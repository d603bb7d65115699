// Campaigns and recoveries on machines that are made otherwise: every promise holds there, too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "testbenches/kit/peer.h"
#include "testbenches/kit/world.h"
#include "testbenches/scenarios/faults/campaign.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim::faults {
namespace {

struct machine {
  const char* name;
  void (*change)(system_config& c, stream_options& o);

  friend std::ostream& operator<<(std::ostream& to, const machine& m) { return to << m.name; }
};

template <class Change>
void each(system_config& c, Change change) {
  for (node_config& n : c.nodes) change(n);
}

constexpr machine machines[] = {
    {"iommu", [](system_config& c, stream_options&) { each(c, [](node_config& n) { n.iommu.enabled = true; }); }},
    {"ats",
     [](system_config& c, stream_options&) { each(c, [](node_config& n) { n.iommu.enabled = n.hca.atc.enabled = true; }); }},
    {"small_caches",
     [](system_config& c, stream_options&) {
       each(c, [](node_config& n) {
         for (context_cache_config* k : {&n.hca.qpc_cache, &n.hca.cqc_cache, &n.hca.mrc_cache}) k->sets = k->ways = 1;
       });
     }},
    {"parity", [](system_config& c, stream_options&) { each(c, [](node_config& n) { n.hca.icm.check = icm_check::parity; }); }},
    {"lossy",
     [](system_config& c, stream_options&) {
       c.link.loss = 0.01;
       c.link.corruption = 0.01;
     }},
    {"many_qps",
     [](system_config&, stream_options& o) {
       o.qps = 16;
       o.window = 4;
     }},
    {"processes",
     [](system_config&, stream_options& o) {
       o.processes = 4;
       o.window = 4;
     }},
    {"on_demand", [](system_config&, stream_options& o) { o.memory = stream_memory::on_demand; }},
    {"on_demand_ats",
     [](system_config& c, stream_options& o) {
       each(c, [](node_config& n) { n.iommu.enabled = n.hca.atc.enabled = true; });
       o.memory = stream_memory::on_demand;
     }},
    {"peer_memory",
     [](system_config& c, stream_options& o) {
       c = kit::with_peers(c);
       o.memory = stream_memory::peer;
     }},
    {"polling", [](system_config&, stream_options& o) { o.events = false; }},
    {"switched", [](system_config& c, stream_options&) { c.fabric = topology::with_switch; }},
    {"pcie_switch", [](system_config& c, stream_options&) { each(c, [](node_config& n) { n.pcie.has_switch = true; }); }},
    {"rtl",
     [](system_config& c, stream_options&) {
       each(c, [](node_config& n) {
         n.hca.doorbell.implementation = n.hca.key_check.implementation = n.hca.page_walker.implementation =
             n.hca.mrc_cache.implementation = n.hca.cqc_cache.implementation = implementation::rtl;
       });
     }},
};

std::uint32_t many(std::uint32_t full, std::uint32_t few) {
  return std::getenv("HCASIM_FULL") ? full : few;
}
std::uint64_t seed() {
  const char* const given = std::getenv("HCASIM_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

class faulty_machine : public ::testing::TestWithParam<machine> {
 protected:
  static system_config config_of(const machine& m, stream_options& o) {
    system_config c;
    watch_closely(c);
    for (node_config& n : c.nodes) n.hca.icm.check = icm_check::secded;
    m.change(c, o);
    return c;
  }
};

TEST_P(faulty_machine, campaign) {
  campaign_options o;
  o.faults = many(400, std::string_view(GetParam().name) == "rtl" ? 5 : 20);  // Verilated units are slow
  world w(config_of(GetParam(), o.stream));
  campaign_outcome out;
  start_campaign(w.sys(), o, seed(), out);
  run_simulation();
  EXPECT_EQ(out.problem, "");
  EXPECT_TRUE(out.stream.over);
  EXPECT_EQ(out.stream.moved != 0, o.stream.memory == stream_memory::on_demand);
  EXPECT_EQ(out.trials.size(), o.faults);
  for (const trial& t : out.trials) {
    if (may_be_believed(w.sys().config(), t.what)) continue;
    EXPECT_NE(t.became, outcome::lost) << t.place << " " << t.what << ": " << t.how;
  }
  recovery_outcome end;
  judge_recovery(w.sys(), end);
  for (const std::string& what : end.left) ADD_FAILURE() << what;
}

TEST_P(faulty_machine, recovery) {
  recovery_options o;
  o.failures = many(100, 6);
  world w(config_of(GetParam(), o.stream));
  recovery_outcome out;
  start_recovery(w.sys(), o, seed(), out);
  run_simulation();
  judge_recovery(w.sys(), out);
  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.streamed_on, o.failures);
  EXPECT_TRUE(out.stream.over);
  EXPECT_EQ(out.stream.wrong + out.stream.silent + out.stream.unclosed, 0U);
  for (const std::string& what : out.left) ADD_FAILURE() << what;
}

INSTANTIATE_TEST_SUITE_P(machines, faulty_machine, ::testing::ValuesIn(machines),
                         [](const ::testing::TestParamInfo<machine>& m) { return m.param.name; });

}  // namespace
}  // namespace hcasim::faults
