#include "models/adapter/prober/prober.h"

#include <gtest/gtest.h>

#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

// The next read begins an interval after the answer of the last one, as long as there is anything else to do.
TEST(Prober, ReadsAgainAnIntervalAfterTheAnswer) {
  prober p("prober", {.interval = 1000_ns});
  testing::fake_target<dma_request> memory("memory");
  memory.latency = 250_ns;
  memory.inline_answers = false;
  p.dma.bind(memory.in);
  event_queue::instance().at(2400_ns, {[](void*) {}, nullptr});
  testing::run_until_idle();
  ASSERT_EQ(memory.requests.size(), 2U);
  EXPECT_EQ(memory.requests[0].second, 1000_ns);
  EXPECT_EQ(memory.requests[1].second, 2250_ns);
}

TEST(Prober, WithoutAnIntervalItReadsNothing) {
  prober p("prober", {});
  testing::fake_target<dma_request> memory("memory");
  p.dma.bind(memory.in);
  testing::run_until_idle();
  EXPECT_TRUE(memory.requests.empty());
}

}  // namespace
}  // namespace hcasim
