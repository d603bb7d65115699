// Faults of bursts to come: each happens as often as asked for, in order, to the bursts of its kind.
#include <gtest/gtest.h>

#include "models/machine/pcie/pcie_bench.h"

namespace hcasim {
namespace {

using testing::bench;
using testing::run_until_idle;

struct burst_bench : bench {
  burst_bench() : bench(pcie_config()) {}
  bool passes(bool write) {
    auto& r = dma[0].send(write, 0x1000, 64, now() + 10_ns);
    run_until_idle();
    return r.is_response_ok();
  }
};

TEST(asked_faults, each_fault_waits_for_a_burst_of_its_kind) {
  burst_bench b;
  testing::inject(b.tree, "poisoned_write", 1);
  testing::inject(b.tree, "poisoned_read", 1);
  testing::inject(b.tree, "completer_abort", 2);
  testing::inject(b.tree, "poisoned_read", 1);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(b.passes(false)) << i;
  EXPECT_TRUE(b.passes(false));
  EXPECT_FALSE(b.passes(true));
  EXPECT_EQ(b.value("device0_faults"), 5);
}

// A request for more faults than bursts costs no more time and memory than a request for one.
TEST(asked_faults, more_faults_than_bursts_may_be_asked_for) {
  burst_bench b;
  testing::inject(b.tree, "unsupported_request", 1'000'000'000'000);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(b.passes(false)) << i;
  EXPECT_EQ(b.value("device0_faults"), 100);
}

TEST(asked_faults, a_count_of_zero_makes_no_fault) {
  burst_bench b;
  testing::inject(b.tree, "completer_abort", 0);
  EXPECT_TRUE(b.passes(true));
  EXPECT_TRUE(b.passes(false));
}

TEST(asked_faults, withdrawn_faults_do_not_happen) {
  burst_bench b;
  for (const char* what : {"completer_abort", "poisoned_read", "receiver_error", "replay_timeout"}) {
    testing::inject(b.tree, what, 3);
  }
  b.tree.withdraw();
  for (const bool write : {false, true}) EXPECT_TRUE(b.passes(write));
  EXPECT_EQ(b.value("device0_faults"), 0);
  EXPECT_EQ(b.value("device0_down_replays") + b.value("device0_up_replays"), 0);
}

}  // namespace
}  // namespace hcasim
