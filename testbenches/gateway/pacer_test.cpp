#include "testbenches/gateway/pacer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace hcasim::gateway {
namespace {

TEST(Pacer, NapsLongerTheLongerNothingPasses) {
  pacer p(pacing{.step = 20_us, .idle_step = 100_us, .most_lag = 10_ms});
  EXPECT_EQ(p.wait_at_most(0_us, 0_us, true), 20_us);
  EXPECT_EQ(p.wait_at_most(20_us, 20_us, false), 40_us);
  EXPECT_EQ(p.wait_at_most(60_us, 60_us, false), 80_us);
  EXPECT_EQ(p.wait_at_most(140_us, 140_us, false), 100_us);
  EXPECT_EQ(p.wait_at_most(240_us, 240_us, false), 100_us);
  EXPECT_EQ(p.wait_at_most(340_us, 340_us, true), 20_us);
}

TEST(Pacer, GoesOnWhereTheWallClockIs) {
  pacer p(pacing{});
  EXPECT_EQ(p.wait_at_most(0_us, 0_us, true), 20_us);
  EXPECT_EQ(p.next_step(0_us, 7_us), 7_us) << "a frame ended the wait";
  EXPECT_EQ(p.next_step(0_us, 33_us), 20_us) << "no farther than it was to go";
  EXPECT_EQ(p.next_step(0_us, 0_us), 1_ps) << "time goes on";
}

TEST(Pacer, CatchesUpInSteps) {
  pacer p(pacing{});
  EXPECT_EQ(p.wait_at_most(0_us, 300_us, true), 0_us);
  EXPECT_EQ(p.lag(), 300_us);
  EXPECT_EQ(p.next_step(0_us, 301_us), 20_us);
  EXPECT_EQ(p.wait_at_most(20_us, 305_us, false), 0_us);
  EXPECT_EQ(p.lag(), 285_us);
  EXPECT_EQ(p.slipped(), 0_us);
}

TEST(Pacer, GivesUpLagAboveItsLimit) {
  pacer p(pacing{});
  EXPECT_EQ(p.wait_at_most(0_us, 10_ms, true), 0_us);
  EXPECT_EQ(p.slipped(), 0_ms);
  EXPECT_EQ(p.wait_at_most(0_us, 25_ms, true), 0_us);
  EXPECT_EQ(p.slipped(), 15_ms);
  EXPECT_EQ(p.most_lag(), 25_ms);
  EXPECT_EQ(p.lag(), 10_ms);
  // Caught up: 15 ms later than the wall clock for ever.
  EXPECT_EQ(p.wait_at_most(30_ms, 45_ms, true), 20_us);
  EXPECT_EQ(p.lag(), 0_ms);
}

// Simulated time goes on and is never ahead of the wall clock, whatever the host does. It is behind at most by the slip and the
// allowed lag.
RC_GTEST_PROP(Pacer, IsNeverAhead, ()) {
  const pacing c{.step = 20_us, .idle_step = 1_ms, .most_lag = 2_ms};
  pacer p(c);
  ps now{0};
  ps wall{0};
  for (int i = 0; i < 200; ++i) {
    wall += ps(*rc::gen::inRange<std::int64_t>(1, *rc::gen::element<std::int64_t>(1000, 10'000'000, 5'000'000'000)));
    const ps rest = p.wait_at_most(now, wall, *rc::gen::arbitrary<bool>());
    RC_ASSERT(rest >= ps(0) && rest <= c.idle_step);
    RC_ASSERT(p.lag() <= c.most_lag);
    if (rest > ps(0)) wall += ps(*rc::gen::inRange<std::int64_t>(1, 2 * rest.count()));
    const ps next = p.next_step(now, wall);
    RC_ASSERT(next > now && next <= now + c.idle_step);
    RC_ASSERT(next <= std::max(wall, now + ps(1)));
    now = next;
  }
  RC_ASSERT(wall - p.slipped() - now <= c.most_lag + 2 * c.idle_step);
}

}  // namespace
}  // namespace hcasim::gateway
