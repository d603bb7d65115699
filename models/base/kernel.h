// The border to the SystemC kernel: time conversion and nothing else. The kernel resolution is 1 ps.
#pragma once

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif
#include <systemc>
#include <tlm>

#include "models/base/units.h"

namespace hcasim {

inline ps to_ps(const sc_core::sc_time& t) { return ps(static_cast<std::int64_t>(t.value())); }
inline sc_core::sc_time to_sc(ps t) { return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(t.count())); }
inline ps now() { return to_ps(sc_core::sc_time_stamp()); }

}  // namespace hcasim
