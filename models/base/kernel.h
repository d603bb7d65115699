// The border to the SystemC kernel: time conversion and nothing else. The kernel resolution is 1 ps.
#pragma once

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif
#include <systemc>
#include <tlm>
#include <type_traits>

#include "models/base/units.h"

namespace hcasim {

inline ps to_ps(const sc_core::sc_time& t) {
  return ps(static_cast<std::int64_t>(t.value()));
}

// sc_time is a 64-bit count and nothing else. Setting it in place saves a call into the library for every transaction.
inline sc_core::sc_time to_sc(ps t) {
  static_assert(std::is_standard_layout_v<sc_core::sc_time> && sizeof(sc_core::sc_time) == sizeof(sc_dt::uint64));
  sc_core::sc_time s;
  *reinterpret_cast<sc_dt::uint64*>(&s) = static_cast<sc_dt::uint64>(t.count());
  return s;
}

inline ps now() {
  return to_ps(sc_core::sc_get_curr_simcontext()->time_stamp());
}

}  // namespace hcasim
