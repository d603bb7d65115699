// Every rank gets the sum of all vectors. Neighbours pass parts on: first they add, then they copy [Patarasuk, Yuan 2009].
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class ring_all_reduce_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override {
    const std::uint32_t added = pass_around_ring(b, rank, rank, true, none);
    pass_around_ring(b, rank, (rank + 1) % b.options().ranks, false, added);
  }
  [[nodiscard]] double bus_factor(std::uint32_t ranks) const override { return 2 * collective_operation::bus_factor(ranks); }
};

}  // namespace hcasim::schedules
