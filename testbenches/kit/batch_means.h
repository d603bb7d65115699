// The mean of a quantity over a run, with its confidence interval by batch means (Law and Kelton, Simulation Modeling and
// Analysis, 9.5). The run is cut into batches of equal length, so long that a batch hardly depends on the one before. Two
// batches become one when there are too many. Memory does not depend on the length of the run.
#pragma once

#include <cstddef>
#include <vector>

namespace hcasim::kit {

// A quantity is a ratio of two totals: bytes over time, or a sum of latencies over messages.
class batch_means {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t first_look = 48;
  static constexpr double most_correlation = 0.2;

  // Adds the growth of both totals in the next step of the run. Steps are equally long.
  void add(double over, double under);

  [[nodiscard]] std::size_t batches() const { return batches_.size(); }  // complete ones
  [[nodiscard]] std::size_t steps_of_a_batch() const { return width_; }
  [[nodiscard]] double mean() const;  // of complete batches; 0 = there was nothing
  // Returns half the confidence interval of 95 %; infinite with fewer than two batches.
  [[nodiscard]] double half_width() const;
  // Returns the correlation of a batch with the next one, -1 to 1; 0 = all batches are equal.
  [[nodiscard]] double correlation() const;
  // Returns whether the interval is within `precision`, a share of the mean, to each side. Fewer than 32 batches, or batches
  // that hang together more than `most_correlation`, are not.
  [[nodiscard]] bool within(double precision) const;
  // Returns whether steady() may say yes now.
  [[nodiscard]] bool looks() const;
  // Returns whether a run may end here: within(), looked at when there are `first_look` and `most` batches alone. A look at
  // each step would find a lucky moment.
  [[nodiscard]] bool steady(double precision) const;

 private:
  struct batch {
    double over = 0;
    double under = 0;
  };
  // Returns each batch's distance from what the mean expects of it.
  [[nodiscard]] std::vector<double> residuals() const;

  std::vector<batch> batches_;
  batch open_;
  std::size_t steps_ = 0;  // in the open batch
  std::size_t width_ = 1;  // steps of a batch
};

}  // namespace hcasim::kit
