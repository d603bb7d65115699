// Everything twice as slow is the same run in twice the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/knob_roles.h"
#include "testbenches/checks/system_laws/workloads.h"
#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/execution/prepare.h"

namespace hcasim::metamorphic {
namespace {

// Rates of which a byte takes a whole number of picoseconds, at half speed too: nothing is rounded. A PCIe link of generation 2
// with 16 lanes and no share for its own packets moves a byte in 125 ps.
void round_rates(setup& s) {
  for (node_config& n : s.config.nodes) {
    n.pcie.generation = 2;
    n.pcie.dllp_overhead = 0;
  }
  s.traffic.rnr_timer = 4;  // 40 us
}

void slow_down(setup& s) {
  const auto machine = make_system_platform();
  *machine->config() = s.config;
  knob_tree tree = make_tree(*machine, nullptr);
  for (const knob_tree::leaf& l : tree.leaves()) {
    const double v = number_of(l);
    if (l.kind == knob_kind::time && v * 2 <= l.max) l.assign(format_quantity(l.kind, v * 2));
    if (l.kind == knob_kind::rate || l.kind == knob_kind::clock) l.assign(format_quantity(l.kind, v / 2));
    if (l.path.ends_with("pcie.lanes")) l.assign(format_quantity(l.kind, v / 2));
  }
  s.config = *machine->config();
  s.traffic.grid *= 2;
  // Timeouts are on InfiniBand's own scales.
  ++s.traffic.timeout;
  s.traffic.rnr_timer = 6;  // 80 us
}

class time_scale : public ::testing::TestWithParam<workload> {};

TEST_P(time_scale, the_same_run_in_twice_the_time) {
  const workload& w = GetParam();
  const auto slow = [](setup& s) {
    round_rates(s);
    slow_down(s);
  };
  const auto o =
      run_all({{.of = &w, .adjust = round_rates, .with_times = true}, {.of = &w, .adjust = slow, .with_times = true}});
  for (const outcome& one : o) ASSERT_TRUE(one.ran()) << w.name << ": " << one.problem << one.refused;
  EXPECT_EQ(o[0].bytes, o[1].bytes) << "time_scale, " << w.name << ": the bytes differ";
  ASSERT_EQ(o[0].completions.size(), o[1].completions.size());
  for (std::size_t i = 0; i < o[0].completions.size(); ++i) {
    const completed_message& a = o[0].completions[i];
    const completed_message& b = o[1].completions[i];
    if (a.at * 2 == b.at && a.qp == b.qp && a.number == b.number) continue;
    FAIL() << fmt::format(
        "time_scale, {}: the {}th completion is message {} of QP {} at {} ps, or {} of {} at {}; rates {:.4f} and {:.4f} M/s",
        w.name, i, a.number, a.qp, a.at.count(), b.number, b.qp, b.at.count(), o[0].rate / 1e6, o[1].rate / 1e6);
  }
}

// Returns the rates of a workload at full and at half speed, as means of `interleavings` runs.
std::vector<outcome> both_speeds(const workload& w, unsigned interleavings) {
  return means_of({{.of = &w}, {.of = &w, .adjust = slow_down}}, interleavings);
}

TEST_P(time_scale, half_the_rate) {
  const workload& w = GetParam();
  std::vector<outcome> o;
  double within = 0;
  // Rounding may change the interleaving; a mean over many interleavings then tells, over a few seldom.
  for (const auto& [interleavings, closeness] : {std::pair{1U, 1e-3}, {12U, 2.5e-3}, {64U, 5e-3}}) {
    o = both_speeds(w, interleavings);
    within = closeness;
    if (!o[0].ran() || !o[1].ran() || std::abs(o[1].rate * 2 / o[0].rate - 1) <= within) break;
  }
  for (const outcome& one : o) ASSERT_TRUE(one.ran()) << w.name << ": " << one.problem << one.refused;
  EXPECT_NEAR(o[1].rate * 2 / o[0].rate, 1, within)
      << fmt::format("half_the_rate, {}: {:.4f} and {:.4f} M/s", w.name, o[0].rate / 1e6, o[1].rate / 1e6);
}

INSTANTIATE_TEST_SUITE_P(law, time_scale, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
