#include "testbenches/program/results/hierarchy.h"

namespace hcasim {
namespace {

void collect(const std::vector<sc_core::sc_object*>& objects, std::vector<unit*>& out) {
  for (sc_core::sc_object* o : objects) {
    if (auto* u = dynamic_cast<unit*>(o)) out.push_back(u);
    collect(o->get_child_objects(), out);
  }
}

}  // namespace

std::vector<unit*> all_units() {
  std::vector<unit*> units;
  collect(sc_core::sc_get_top_level_objects(), units);
  return units;
}

}  // namespace hcasim
