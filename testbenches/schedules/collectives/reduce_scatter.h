// Every rank gets its part of the sum of all vectors. Neighbours pass parts on, and add their own.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class reduce_scatter_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override { pass_around_ring(b, rank, rank, true, none); }
};

}  // namespace hcasim::schedules
