// Every workload runs to its end, with a middle part long enough to tell a rate by.
#include "testbenches/checks/system_laws/workloads.h"

#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/checks/system_laws/sweep.h"
#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/execution/prepare.h"

namespace hcasim::metamorphic {
namespace {

class workload_test : public ::testing::TestWithParam<workload> {};

TEST_P(workload_test, runs) {
  const outcome o = run_all({{.of = &GetParam()}})[0];
  ASSERT_TRUE(o.ran()) << o.problem << o.refused;
  std::string busiest;
  double most = 0;
  for (const auto& [name, share] : o.busy) {
    if (share > most) busiest = name;
    most = std::max(most, share);
  }
  std::cout << fmt::format("{}: {:.4f} M/s over {:.1f} us, {} {:.3f}\n", GetParam().name, o.rate / 1e6, o.middle * 1e6, busiest,
                           most);
  EXPECT_GT(o.rate, 0);
  EXPECT_GT(o.middle, 10e-6);
}

// A sweep's own value leaves every knob of the machine as it is.
TEST_P(workload_test, own_values_change_nothing) {
  const auto machine = make_system_platform();
  setup s;
  GetParam().arrange(s);
  *machine->config() = s.config;
  knob_tree tree = make_tree(*machine, nullptr);
  std::vector<double> before;
  for (const knob_tree::leaf& l : tree.leaves()) before.push_back(number_of(l));
  int own = 0;
  for (const knob_sweep& k : knobs_of(GetParam(), false)) {
    if (k.own.empty()) continue;
    ++own;
    tree.set(k.knob, k.own, {k.knob});
  }
  EXPECT_GT(own, 100);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(number_of(tree.leaves()[i]), before[i]) << tree.leaves()[i].path;
}

INSTANTIATE_TEST_SUITE_P(all, workload_test, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
