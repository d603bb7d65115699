// Every rank gets the vector of rank 0, along a binomial tree.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class broadcast_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override { broadcast_down_tree(b, rank, none); }
  [[nodiscard]] double bus_factor(std::uint32_t /*ranks*/) const override { return 1; }
};

}  // namespace hcasim::schedules
