// --explain names the only binding resource, made scarce, as the busiest.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/sweep.h"
#include "testbenches/checks/system_laws/workloads.h"
#include "testbenches/program/description/names.h"

namespace hcasim::metamorphic {
namespace {

class scarce : public ::testing::TestWithParam<workload> {};

// "node*.hca.port.egress_interval": "node*.hca.port.*"; links and switches are numbered.
std::string resources_of_unit_with(const std::string& knob) {
  const std::string unit = knob.substr(0, knob.rfind('.'));
  return unit + (unit.find('.') == std::string::npos ? "*.*" : ".*");
}

// Returns whether the knob's limit makes no unit busy.
bool binds_no_unit(const std::string& knob) {
  static constexpr const char* list[] = {"*.send_queue.max_outstanding",  // a limit of each QP
                                         "*.requester.window",            // a limit of each QP
                                         "*_cache.ways",                  // a limit of each set
                                         "*.host.*_rate"};                // a rate of software, reported by the testbench
  return std::any_of(std::begin(list), std::end(list), [&](const char* l) { return glob_match(l, knob); });
}

struct scarcity {
  std::pair<double, std::string> busiest;
  std::pair<double, std::string> of_unit;
};
std::ostream& operator<<(std::ostream& out, const scarcity& s) {
  return out << fmt::format("; {} {:.4f}, of the unit {} {:.4f}", s.busiest.second, s.busiest.first, s.of_unit.second,
                            s.of_unit.first);
}
scarcity scarcity_of(const outcome& o, const std::string& own) {
  scarcity s;
  for (const auto& [name, busy] : o.busy) {
    s.busiest = std::max(s.busiest, {busy, name});
    if (glob_match(own, name)) s.of_unit = std::max(s.of_unit, {busy, name});
  }
  return s;
}

TEST_P(scarce, the_bottleneck_is_named) {
  const workload& w = GetParam();
  std::vector<experiment> list{{.of = &w, .adjust = make_ample}};
  std::vector<role> roles{role::none};
  for (const changed_knob& k : scarcities(w, make_ample)) {
    if (binds_no_unit(k.knob) || (!full() && !has_its_turn(k.knob, w))) continue;
    list.push_back({.of = &w, .settings = {{k.knob, k.to}}, .adjust = make_ample});
    roles.push_back(k.what);
  }
  const auto outcomes = run_all(list);
  ASSERT_TRUE(outcomes[0].ran()) << outcomes[0].problem << outcomes[0].refused;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const outcome& o = outcomes[i];
    const setting& s = list[i].settings[0];
    if (!o.refused.empty()) continue;
    const std::string line = fmt::format("the_bottleneck_is_named, {}: {} = {}: {:.4f} to {:.4f} M/s", w.name, s.knob, s.value,
                                         outcomes[0].rate / 1e6, o.rate / 1e6);
    EXPECT_TRUE(o.ran()) << line << o.problem;
    if (o.rate > outcomes[0].rate / 2) continue;
    const scarcity found = scarcity_of(o, resources_of_unit_with(s.knob));
    // A pool may lack room for just the next request; and an empty pool fills the pools before it.
    const bool named = roles[i] == role::pool ? found.of_unit.first >= 0.5
                                              : found.of_unit.first >= 0.9 && found.of_unit.first > found.busiest.first - 0.02;
    EXPECT_TRUE(named) << line << found;
  }
}

INSTANTIATE_TEST_SUITE_P(law, scarce, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

// A unit as RTL, with nearly idle streams.
struct rtl_unit {
  const char* unit;
  const char* workload_name;
  std::vector<setting> also{};
};
void PrintTo(const rtl_unit& u, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << u.unit;
}
class scarce_rtl : public ::testing::TestWithParam<rtl_unit> {};

TEST_P(scarce_rtl, the_bottleneck_is_named) {
  const std::string unit = std::string("node*.hca.") + GetParam().unit;
  const workload& w = workload_named(GetParam().workload_name);
  std::vector<setting> as_rtl = GetParam().also;
  as_rtl.push_back({unit + ".implementation", "rtl"});
  std::vector<setting> stalled = as_rtl;
  stalled.push_back({unit + ".rtl.stall", "0.95"});
  const auto outcomes = run_all({{.of = &w, .settings = as_rtl}, {.of = &w, .settings = stalled}});
  for (const outcome& o : outcomes) ASSERT_TRUE(o.ran()) << o.problem << o.refused;
  ASSERT_LT(outcomes[1].rate, outcomes[0].rate / 2);
  const scarcity s = scarcity_of(outcomes[1], unit + ".*");
  EXPECT_GE(s.of_unit.first, 0.9) << unit << s;
}

INSTANTIATE_TEST_SUITE_P(law, scarce_rtl,
                         ::testing::Values(rtl_unit{"doorbell",
                                                    "doorbells",
                                                    {{"node*.hca.doorbell.coalesce", "true"},
                                                     {"node*.hca.doorbell.blueflame_stall", "false"}}},
                                           rtl_unit{"key_check", "small_writes"}, rtl_unit{"page_walker", "small_writes"},
                                           rtl_unit{"mrc_cache", "small_writes"}, rtl_unit{"qpc_cache", "small_writes"}),
                         [](const auto& i) { return std::string(i.param.unit); });

}  // namespace
}  // namespace hcasim::metamorphic
