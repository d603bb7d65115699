// Tells on which side a TLM interface lies. A unit of this project wakes kernel processes only through wake() and wake_at():
// after a call to it, the kernel's next activity is known. A foreign module may notify events inside the call.
#pragma once

#include "tlm/base/kernel.h"

namespace hcasim {

void own_interface(const sc_core::sc_interface* i);
bool is_own_interface(const sc_core::sc_interface* i);

// Declares in a unit's constructor: calls to this socket wake kernel processes only through wake() and wake_at().
template <class Socket>
void own(Socket& s) {
  own_interface(s.get_base_export().get_interface());
}
// Returns whether calls through this socket lead to a foreign module. Valid after elaboration.
template <class Socket>
bool leads_abroad(Socket& s) {
  const sc_core::sc_interface* const other = s.get_base_port().get_interface();
  return other != nullptr && !is_own_interface(other);
}

}  // namespace hcasim
