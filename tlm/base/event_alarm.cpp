#include "tlm/base/event_alarm.h"

#include <algorithm>
#include <vector>

namespace hcasim {

namespace {

std::vector<event_alarm*>
    alarms;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the process, as the event queue is

}  // namespace

void event_alarm::set(std::uint64_t more) {
  cancel();
  due_ = detail::events + more;
  alarms.push_back(this);
  detail::events_due = std::min(detail::events_due, due_);
}

// `events_due` stays: the look then finds nothing to do.
void event_alarm::cancel() {
  std::erase(alarms, this);
}

void detail::events_reached() {
  std::vector<event_alarm*> due;
  events_due = ~std::uint64_t{0};
  for (event_alarm* a : alarms) {
    if (a->due_ <= events) {
      due.push_back(a);
    } else {
      events_due = std::min(events_due, a->due_);
    }
  }
  for (event_alarm* a : due) {
    if (std::erase(alarms, a) != 0) a->what_();  // an earlier one may have cancelled it
  }
}

}  // namespace hcasim
