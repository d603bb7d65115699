#include "tlm/base/alarm.h"

#include "tlm/base/pool.h"

namespace hcasim {

// Stays in the queue until its time, also when its waiter has gone.
struct reminder {
  alarm* owner = nullptr;
  ps when{0};
  bool idle = false;
};

namespace {

pool<reminder> reminders;

}  // namespace

alarm::~alarm() {
  forget();
}

void alarm::set(ps deadline) {
  deadline_ = deadline;
  if (deadline == never) {
    if (nearest_) idle(*nearest_, true);
  } else if (nearest_ && nearest_->when <= deadline) {
    idle(*nearest_, false);
  } else {
    forget();
    remind(deadline);
  }
}

void alarm::remind(ps when) {
  nearest_ = &reminders.get();
  *nearest_ = {this, when, false};
  event_queue::instance().at(when, {&alarm::due, nearest_});
}

void alarm::forget() {
  if (!nearest_) return;
  idle(*nearest_, true);
  nearest_->owner = nullptr;
  nearest_ = nullptr;
}

void alarm::idle(reminder& r, bool on) {
  if (r.idle == on) return;
  r.idle = on;
  event_queue::instance().disregard(on ? 1 : -1);
}

void alarm::due(void* context) {
  auto& r = *static_cast<reminder*>(context);
  alarm* const self = r.owner;
  idle(r, false);
  reminders.put(r);
  if (!self) return;
  self->nearest_ = nullptr;
  if (self->deadline_ == never) return;
  if (self->deadline_ <= now()) {
    self->deadline_ = never;
    self->ring_();
  } else {
    self->remind(self->deadline_);
  }
}

}  // namespace hcasim
