// Measures the difference between the times of model and RTL: random streams of several seeds, with a confidence interval.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hcasim::lockstep {

// A mean over seeds, and half the width of its interval of 95 %.
struct estimate {
  double mean = 0;
  double half = 0;
};
estimate estimate_of(const std::vector<double>& samples);

// Stalls of the streams: with a probability in every cycle, or in storms.
struct stall_condition {
  double stall = 0.1;
  bool storms = false;
};
inline constexpr stall_condition stall_conditions[] = {{0, false}, {0.1, false}, {0.3, false}, {0.6, false}, {0.1, true}};

struct accuracy {
  std::string unit;
  stall_condition under;
  double own = 0;       // cycles of a request that hits everywhere: mean latency in full pipelines
  estimate error;       // mean of |rtl - model|, cycles
  double p99 = 0;       // of the worst seed
  double largest = 0;   // of all seeds
  estimate throughput;  // cycles of the RTL against those of the model, %
  std::string problem;
};
// Measures with the seeds 1, 2, ... and `requests` for each.
accuracy measure_accuracy(const std::string& unit, const stall_condition& under, std::uint64_t seeds, std::uint64_t requests);
std::string name_of(const stall_condition& w);
// Returns the row of docs/validation.md.
std::string row_of(const accuracy& a);

}  // namespace hcasim::lockstep
