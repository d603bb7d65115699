#include <gtest/gtest.h>

#include <algorithm>

#include "firmware/abi/registers.h"
#include "firmware/abi/wqe.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/listed_faults_test_kit.h"

namespace hcasim::lockstep {
namespace {

// The RTL waits for lines of a write without a WQE. It is never idle then, although nothing is owed or offered.
TEST(faults, of_rtl_that_is_never_idle_again_end_the_run) {
  const std::vector<listed> faults = list_of("doorbell");
  const auto fault = std::find_if(faults.begin(), faults.end(), [](const listed& l) { return l.wrong == "bytes >= 13'd64"; });
  ASSERT_NE(fault, faults.end());
  constexpr std::uint32_t qpn = 5;
  write_fields too_long;
  too_long.kind = write_kind::bad;
  too_long.number = qpn;
  too_long.offset = HCA_UAR_BF;
  too_long.blocks = 1;
  too_long.bytes = HCA_BF_BYTES + 1;
  options o;
  o.how = mode::single;
  const report r =
      compare("doorbell", static_cast<unsigned>(fault - faults.begin()) + 1, o, {pack_qp(qpn, 4096, 0, false), pack(too_long)});
  EXPECT_NE(r.problem.find("hang: the design is not idle, although it has no work"), std::string::npos) << r.problem;
}

}  // namespace
}  // namespace hcasim::lockstep
