// What is so scarce that it alone binds is the busiest of what --explain names.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "testbenches/metamorphic/sweep.h"
#include "testbenches/metamorphic/workloads.h"
#include "testbenches/runner/description/names.h"

namespace hcasim::metamorphic {
namespace {

class scarce : public ::testing::TestWithParam<workload> {};

// "node*.hca.port.egress_interval": "node*.hca.port.*"; links and switches are numbered.
std::string resources_of_unit_with(const std::string& knob) {
  const std::string unit = knob.substr(0, knob.rfind('.'));
  return unit + (unit.find('.') == std::string::npos ? "*.*" : ".*");
}

// Of what these limit nothing is busy.
bool binds_no_unit(const std::string& knob) {
  static constexpr const char* list[] = {"*.send_queue.max_outstanding",  // of each QP
                                         "*.requester.window",            // of each QP
                                         "*_cache.ways",                  // of each set
                                         "*.host.*_rate"};                // of software, which its testbench tells of
  return std::any_of(std::begin(list), std::end(list), [&](const char* l) { return glob_match(l, knob); });
}

TEST_P(scarce, what_binds_is_named) {
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
    const std::string line = fmt::format("what_binds_is_named, {}: {} = {}: {:.4f} to {:.4f} M/s", w.name, s.knob, s.value,
                                         outcomes[0].rate / 1e6, o.rate / 1e6);
    EXPECT_TRUE(o.ran()) << line << o.problem;
    if (o.rate > outcomes[0].rate / 2) continue;
    const std::string own = resources_of_unit_with(s.knob);
    std::pair<double, std::string> busiest;
    std::pair<double, std::string> of_unit;
    for (const auto& [name, share] : o.busy) {
      busiest = std::max(busiest, {share, name});
      if (glob_match(own, name)) of_unit = std::max(of_unit, {share, name});
    }
    // Of a pool some may be too few for who comes next; and where one is empty, those before it fill.
    const bool named =
        roles[i] == role::pool ? of_unit.first >= 0.5 : of_unit.first >= 0.9 && of_unit.first > busiest.first - 0.02;
    EXPECT_TRUE(named) << line
                       << fmt::format("; {} {:.4f}, of the unit {} {:.4f}", busiest.second, busiest.first, of_unit.second,
                                      of_unit.first);
  }
}

INSTANTIATE_TEST_SUITE_P(law, scarce, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
