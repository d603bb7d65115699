// Whether the rates and mean latencies of flows are known well enough, by batch means over the measured time.
#pragma once

#include <string>
#include <vector>

#include "testbenches/kit/batch_means.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/plan.h"

namespace hcasim::traffic {

class steadiness {
 public:
  static constexpr ps step{1'000'000};  // 1 us

  struct quantity {
    std::string flow;
    std::string what;
    std::string unit;
    double scale = 1;  // from the unit of the totals to `unit`
    kit::batch_means means;
    double over = 0;  // totals at the last step
    double under = 0;
  };

  steadiness(const plan& p, const std::vector<flow_record>& records);

  // Ends a step: reads the growth of all records.
  void advance();
  // Returns whether the batches are so many that reached() may say yes now.
  [[nodiscard]] bool looks() const { return all_.front().means.looks(); }
  // Returns whether every quantity is within the plan's precision: to end the run, and at its end.
  [[nodiscard]] bool reached() const;
  [[nodiscard]] bool within() const;
  // Returns the quantity that is known worst.
  [[nodiscard]] const quantity& worst() const;
  [[nodiscard]] const std::vector<quantity>& all() const { return all_; }
  // Returns the length of a batch.
  [[nodiscard]] static ps batch_of(const quantity& q) { return step * static_cast<std::int64_t>(q.means.steps_of_a_batch()); }
  // Returns half the confidence interval as a share of the mean.
  [[nodiscard]] static double relative_error(const quantity& q);

 private:
  [[nodiscard]] const latency_histogram& latency_of(std::size_t flow) const;

  const plan& plan_;
  const std::vector<flow_record>& records_;
  std::vector<quantity> all_;  // of flow f: its rate at 2 f, its mean latency at 2 f + 1
  double time_ = 0;            // us
};

}  // namespace hcasim::traffic
