// Every byte that went in came out, and nothing is left over.
#include <gtest/gtest.h>

#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

class conservation : public ::testing::TestWithParam<workload> {
 protected:
  static std::vector<outcome> runs(const workload& w) { return run_all({{.of = &w}}); }
};

TEST_P(conservation, nothing_is_left_over) {
  for (const outcome& o : runs(GetParam())) {
    ASSERT_TRUE(o.ran()) << o.problem << o.refused;
    for (const std::string& what : o.leak_check) ADD_FAILURE() << "nothing_is_left_over, " << GetParam().name << ": " << what;
  }
}

TEST_P(conservation, what_goes_in_comes_out) {
  for (const outcome& o : runs(GetParam())) {
    ASSERT_TRUE(o.ran()) << o.problem << o.refused;
    for (const std::string& what : o.unbalanced) ADD_FAILURE() << "what_goes_in_comes_out, " << GetParam().name << ": " << what;
  }
}

TEST_P(conservation, levels_are_the_sums_of_waits) {
  for (const outcome& o : runs(GetParam())) {
    ASSERT_TRUE(o.ran()) << o.problem << o.refused;
    for (const std::string& what : o.unlike_little) {
      ADD_FAILURE() << "levels_are_the_sums_of_waits, " << GetParam().name << ": " << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(law, conservation, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
