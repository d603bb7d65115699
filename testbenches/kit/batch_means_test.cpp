#include "testbenches/kit/batch_means.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hcasim::kit {
namespace {

TEST(batch_means, equal_steps_have_no_interval) {
  batch_means b;
  for (int i = 0; i < 48; ++i) {
    EXPECT_FALSE(b.steady(0.01)) << i;
    b.add(6, 2);
  }
  EXPECT_EQ(b.mean(), 3);
  EXPECT_EQ(b.half_width(), 0);
  EXPECT_EQ(b.correlation(), 0);
  EXPECT_TRUE(b.steady(0.01));
}

// Rounding errors hang together from step to step, and say nothing of the quantity.
TEST(batch_means, steps_that_differ_by_rounding_alone_are_steady) {
  batch_means b;
  double time = 0.3;
  for (int i = 0; i < 48; ++i) {
    const double before = time;
    time += i < 24 ? 0.1 : 0.1 * (1 + 1e-15);
    b.add(1, time - before);
  }
  EXPECT_GT(b.half_width(), 0);
  EXPECT_LT(b.half_width(), 1e-12 * b.mean());
  EXPECT_TRUE(b.steady(0.01));
}

TEST(batch_means, batches_double_when_there_are_too_many) {
  batch_means b;
  double sum = 0;
  for (int i = 1; i <= 1000; ++i) {
    b.add(i, 1);
    sum += i;
  }
  EXPECT_EQ(b.steps_of_a_batch(), 16U);
  EXPECT_EQ(b.batches(), 62U);
  for (int i = 993; i <= 1000; ++i) sum -= i;  // in the open batch
  EXPECT_DOUBLE_EQ(b.mean(), sum / 992);
}

// Student: n = 49 values of a normal distribution of mean 10 and deviation 2 give 10 +- 2.01 * 2 / 7 on average.
TEST(batch_means, independent_steps_have_the_interval_of_the_textbook) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> value(10, 2);
  double half = 0;
  for (int run = 0; run < 400; ++run) {
    batch_means b;
    for (int i = 0; i < 49; ++i) b.add(value(random), 1);
    half += b.half_width() / 400;
  }
  EXPECT_NEAR(half, 2.01 * 2 / 7, 0.02);
}

// A step hangs on the one before it. Batches that are too short promise too much, and their correlation tells.
TEST(batch_means, the_interval_holds_the_mean_also_of_steps_that_hang_together) {
  constexpr int runs = 400;
  constexpr double memory = 0.9;
  int held = 0;
  int hasty = 0;
  for (int run = 0; run < runs; ++run) {
    std::mt19937_64 random(static_cast<std::uint64_t>(run));
    std::normal_distribution<double> noise(0, 20 * std::sqrt(1 - memory * memory));
    batch_means b;
    for (double x = 0; !b.steady(0.02);) {
      x = memory * x + noise(random);
      b.add(100 + x, 1);
    }
    held += std::fabs(b.mean() - 100) <= b.half_width();
    hasty += b.steps_of_a_batch() < 32;
  }
  EXPECT_GE(held, runs * 90 / 100);
  EXPECT_LE(hasty, runs / 100);
}

TEST(batch_means, a_trend_is_not_steady) {
  batch_means b;
  for (int i = 0; i < 4096; ++i) {
    b.add(1000 + i * 0.01, 1);
    EXPECT_FALSE(b.steady(0.01)) << i;
  }
}

TEST(batch_means, a_step_without_messages_counts_for_nothing) {
  batch_means b;
  for (int i = 0; i < 480; ++i) b.add(i % 10 == 0 ? 70 : 0, i % 10 == 0 ? 7 : 0);
  EXPECT_DOUBLE_EQ(b.mean(), 10);
  EXPECT_NEAR(b.half_width(), 0, 1e-9);
}

TEST(batch_means, nothing_is_not_known_at_all) {
  batch_means b;
  for (int i = 0; i < 100; ++i) {
    b.add(0, 0);
    EXPECT_FALSE(b.steady(0.5));
  }
}

}  // namespace
}  // namespace hcasim::kit
