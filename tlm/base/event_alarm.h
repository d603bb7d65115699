// Counts the events of a run, and calls an action after a number of them. Events are the items of the event queue and the waits
// of software threads: they cost host time, however much simulated time passes. Exact and deterministic; an event costs one
// comparison.
#pragma once

#include <cstdint>

#include "tlm/base/event_queue.h"

namespace hcasim {

namespace detail {
inline std::uint64_t events = 0;
inline std::uint64_t events_due = ~std::uint64_t{0};
void events_reached();
}  // namespace detail

inline void count_event() {
  if (++detail::events >= detail::events_due) [[unlikely]] {
    detail::events_reached();
  }
}
// Returns the number of events so far.
[[nodiscard]] inline std::uint64_t events_passed() {
  return detail::events;
}
// Calls `what` inside the event number `more` from now; a later call replaces it.
void call_after_events(std::uint64_t more, action what);
// Withdraws the action.
void call_after_no_events();

}  // namespace hcasim
