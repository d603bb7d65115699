// Tells on which side a TLM interface lies. A unit of this project wakes processes of the kernel only through wake() and
// wake_at(), so a call to it leaves no doubt about the kernel's next activity. A foreign module may notify events inside the
// call.
#pragma once

#include "tlm/base/kernel.h"

namespace hcasim {

void own_interface(const sc_core::sc_interface* i);
bool is_own_interface(const sc_core::sc_interface* i);

// Declares in a unit's constructor that calls to this socket keep that promise.
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
