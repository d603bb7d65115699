#include "testbenches/scenarios/faults/breaker.h"

#include "models/system/faulty_units.h"

namespace hcasim::faults {

std::vector<weakness> weaknesses(hcasim::system& s) {
  std::vector<weakness> found;
  for (const auto& [place, unit] : faulty_units(s)) {
    for (std::size_t kind = 0; kind < unit->fault_kinds().size(); ++kind) found.push_back({place, unit, kind});
  }
  return found;
}

bool all_up(hcasim::system& s) {
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    if (s.at(i).device().dead()) return false;
  }
  return true;
}

}  // namespace hcasim::faults
