// Every workload runs to its end, with a middle part long enough to tell a rate by.
#include "testbenches/checks/system_laws/workloads.h"

#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(all, workload_test, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
