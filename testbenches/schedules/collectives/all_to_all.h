// Every rank gets a part of every other rank.
#pragma once

#include "testbenches/schedules/collectives/collective_operation.h"

namespace hcasim::schedules {

class all_to_all_collective final : public collective_operation {
 public:
  void append(rank_builder& b, std::uint32_t rank) const override {
    const collective_options& o = b.options();
    for (std::uint32_t i = 1; i < o.ranks; ++i) {
      const std::uint32_t from = (rank + o.ranks - i) % o.ranks;
      const std::uint32_t to = (rank + i) % o.ranks;
      b.receive(from, part_of(o, rank));
      b.send(to, part_of(o, to));
    }
  }
};

}  // namespace hcasim::schedules
