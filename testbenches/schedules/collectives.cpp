#include "testbenches/schedules/collectives.h"

#include <memory>

namespace hcasim::schedules {
namespace {

const collective_operation& operation_of(collective what) {
#define HCASIM_OPERATION(name) std::make_unique<name##_collective>(),
  static const std::unique_ptr<const collective_operation> all[] = {HCASIM_COLLECTIVES(HCASIM_OPERATION)};
#undef HCASIM_OPERATION
  return *all[static_cast<std::size_t>(what)];
}

}  // namespace

schedule make(collective what, const collective_options& o) {
  schedule s;
  s.ranks.resize(o.ranks);
  for (std::uint32_t rank = 0; rank < o.ranks; ++rank) {
    rank_builder b(s.ranks[rank], o);
    for (std::uint32_t i = 0; i < o.repetitions; ++i) {
      operation_of(what).append(b, rank);
      b.end_repetition();
    }
  }
  return s;
}

double bus_factor(collective what, std::uint32_t ranks) {
  return operation_of(what).bus_factor(ranks);
}

}  // namespace hcasim::schedules
