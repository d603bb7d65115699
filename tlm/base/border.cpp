#include "tlm/base/border.h"

#include <unordered_set>

namespace hcasim {
namespace {

std::unordered_set<const sc_core::sc_interface*> own_interfaces;

}  // namespace

void own_interface(const sc_core::sc_interface* i) {
  own_interfaces.insert(i);
}

bool is_own_interface(const sc_core::sc_interface* i) {
  return own_interfaces.contains(i);
}

}  // namespace hcasim
