#include "tlm/base/unit.h"

namespace hcasim {

std::string unit::nearest(const char* other) const {
  for (const sc_core::sc_object* above = get_parent_object(); above; above = above->get_parent_object()) {
    std::string there = std::string(above->name()).append(".").append(other);
    if (sc_core::sc_find_object(there.c_str())) return there;
  }
  return other;
}

}  // namespace hcasim
