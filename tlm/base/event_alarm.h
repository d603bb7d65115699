// Counts the events of a run, and calls actions after a number of them. Events are the items of the event queue and the waits
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

class event_alarm {
 public:
  explicit event_alarm(action what) : what_(what) {}
  ~event_alarm() { cancel(); }
  event_alarm(const event_alarm&) = delete;
  event_alarm& operator=(const event_alarm&) = delete;

  // Calls the action once, inside the event number `more` from now; a later call replaces an earlier one.
  void set(std::uint64_t more);
  void cancel();

 private:
  friend void detail::events_reached();

  action what_;
  std::uint64_t due_ = 0;
};

}  // namespace hcasim
