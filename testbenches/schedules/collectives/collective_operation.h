// A collective operation as the schedules of its ranks.
#pragma once

#include "testbenches/schedules/collective_steps.h"

namespace hcasim::schedules {

class collective_operation {
 public:
  virtual ~collective_operation() = default;
  // Appends the operations of one rank.
  virtual void append(rank_builder& b, std::uint32_t rank) const = 0;
  // Returns the share of the bytes that each link must carry at least: bus bandwidth = factor x bytes / time.
  [[nodiscard]] virtual double bus_factor(std::uint32_t ranks) const { return static_cast<double>(ranks - 1) / ranks; }
};

}  // namespace hcasim::schedules
