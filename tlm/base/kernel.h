// The border to the SystemC kernel: conversion of times, and waking its processes. The kernel resolution is 1 ps.
#pragma once

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif
#include <algorithm>
#include <systemc>
#include <tlm>
#include <type_traits>

#include "tlm/base/units.h"

namespace hcasim {

inline ps to_ps(const sc_core::sc_time& t) {
  return ps(static_cast<std::int64_t>(t.value()));
}

// Returns the time. sc_time is one 64-bit count: setting it in place saves a library call for every transaction.
inline sc_core::sc_time to_sc(ps t) {
  static_assert(std::is_standard_layout_v<sc_core::sc_time> && sizeof(sc_core::sc_time) == sizeof(sc_dt::uint64));
  sc_core::sc_time s;
  *reinterpret_cast<sc_dt::uint64*>(&s) = static_cast<sc_dt::uint64>(t.count());
  return s;
}

namespace detail {
inline const sc_core::sc_time* const kernel_clock = &sc_core::sc_get_curr_simcontext()->time_stamp();
inline ps reached{0};               // time of the event queue, which may be ahead of an idle kernel
inline bool kernel_touched = true;  // the kernel's next activity may have changed
}  // namespace detail

// Returns the kernel's own time. Only delays on TLM sockets and waits for kernel events are relative to it.
[[gnu::always_inline]] inline ps kernel_now() {
  return to_ps(*detail::kernel_clock);
}

// Returns simulated time, at which all work happens.
[[gnu::always_inline]] inline ps now() {
  const ps kernel = kernel_now();
  return detail::reached.count() > kernel.count() ? detail::reached : kernel;
}

// Converts between a time and the delay annotation of a TLM call. `abroad`: the call leads to a module that may notify kernel
// events (tlm/base/border.h). A returned delay leads to none.
inline sc_core::sc_time to_delay(ps t, bool abroad = true) {
  detail::kernel_touched |= abroad;
  return to_sc(std::max(t - kernel_now(), ps(0)));
}
inline ps from_delay(const sc_core::sc_time& delay) {
  return kernel_now() + to_ps(delay);
}

// Wakes a kernel process that waits for `e`, at time t (not in the past). An earlier notification that is pending stays.
inline void wake_at(sc_core::sc_event& e, ps t) {
  detail::kernel_touched = true;
  if (t > kernel_now()) {
    e.notify(to_delay(t));
  } else {
    e.notify(sc_core::SC_ZERO_TIME);
  }
}
inline void wake(sc_core::sc_event& e) {
  detail::kernel_touched = true;
  if (now() > kernel_now()) {
    e.notify(to_delay(now()));
  } else {
    e.notify();
  }
}

}  // namespace hcasim
