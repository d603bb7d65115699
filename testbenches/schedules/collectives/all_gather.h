// Every rank gets the parts of all ranks. Neighbours pass parts on.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class all_gather_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override { pass_around_ring(b, rank, rank, false, none); }
};

}  // namespace hcasim::schedules
