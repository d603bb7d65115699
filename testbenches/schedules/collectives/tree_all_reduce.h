// Every rank gets the sum of all vectors, along a binomial tree: towards rank 0 and from it.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class tree_all_reduce_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override { broadcast_down_tree(b, rank, reduce_up_tree(b, rank)); }
  [[nodiscard]] double bus_factor(std::uint32_t ranks) const override { return 2 * collective_operation::bus_factor(ranks); }
};

}  // namespace hcasim::schedules
