// An object without a part in a run changes nothing of it, and neither do names: each message ends at the same picosecond.
// Names decide which entries share a set of a cache, so the caches have room for all.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/sweep.h"
#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

class symmetry : public ::testing::TestWithParam<workload> {
 protected:
  static void same(const char* law, const std::function<void(setup&)>& change,
                   const std::function<void(setup&)>& base = make_roomy) {
    const auto changed = [&](setup& s) {
      base(s);
      change(s);
    };
    const auto o = run_all(
        {{.of = &GetParam(), .adjust = base, .with_times = true}, {.of = &GetParam(), .adjust = changed, .with_times = true}});
    for (const outcome& one : o) ASSERT_TRUE(one.ran()) << law << ", " << GetParam().name << ": " << one.problem << one.refused;
    EXPECT_EQ(o[0].bytes, o[1].bytes) << law << ", " << GetParam().name << ": the bytes differ";
    ASSERT_EQ(o[0].completions.size(), o[1].completions.size());
    const auto in_order = [](std::vector<completed_message> v) {
      std::sort(v.begin(), v.end(),
                [](const auto& a, const auto& b) { return std::tie(a.at, a.qp, a.number) < std::tie(b.at, b.qp, b.number); });
      return v;
    };
    const auto a = in_order(o[0].completions);
    const auto b = in_order(o[1].completions);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].at == b[i].at && a[i].qp == b[i].qp && a[i].number == b[i].number) continue;
      ADD_FAILURE() << fmt::format(
          "{}, {}: the {}th completion is message {} of QP {} at {} ps, or {} of {} at {}; rates {:.4f} and {:.4f} M/s", law,
          GetParam().name, i, a[i].number, a[i].qp, a[i].at.count(), b[i].number, b[i].qp, b[i].at.count(), o[0].rate / 1e6,
          o[1].rate / 1e6);
      return;
    }
  }
};

TEST_P(symmetry, nodes_exchanged) {
  same("nodes_exchanged", [](setup& s) {
    for (flow& f : s.traffic.flows) {
      f.from = s.config.nodes.size() - 1 - f.from;
      f.to = s.config.nodes.size() - 1 - f.to;
    }
  });
}
TEST_P(symmetry, qps_renumbered) {
  same("qps_renumbered", [](setup& s) { s.traffic.renumbered = true; });
}
TEST_P(symmetry, idle_qps) {
  same("idle_qps", [](setup& s) { s.traffic.idle_qps = 5; });
}
TEST_P(symmetry, idle_regions) {
  same("idle_regions", [](setup& s) { s.traffic.idle_regions = 3; });
}
TEST_P(symmetry, idle_windows) {
  same("idle_windows", [](setup& s) { s.traffic.idle_windows = 3; });
}
TEST_P(symmetry, idle_node) {
  same(
      "idle_node", [](setup& s) { s.config.nodes.push_back(s.config.nodes[0]); },
      [](setup& s) {
        make_roomy(s);
        s.config.fabric = topology::with_switch;
      });
}

INSTANTIATE_TEST_SUITE_P(law, symmetry, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
