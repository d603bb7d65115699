// Rank 0 gets the parts of all ranks, straight from each.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class gather_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override {
    const collective_options& o = b.options();
    if (rank != 0) {
      b.send(0, part_of(o, rank));
      return;
    }
    for (std::uint32_t from = 1; from < o.ranks; ++from) b.receive(from, part_of(o, from));
  }
};

}  // namespace hcasim::schedules
