#include "tlm/base/event_alarm.h"

#include <utility>

namespace hcasim {

namespace {

action alarm_action;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the process, as the event queue is

}  // namespace

void call_after_events(std::uint64_t more, action what) {
  alarm_action = what;
  detail::events_due = detail::events + more;
}

void call_after_no_events() {
  detail::events_due = ~std::uint64_t{0};
}

void detail::events_reached() {
  events_due = ~std::uint64_t{0};
  alarm_action();
}

}  // namespace hcasim
