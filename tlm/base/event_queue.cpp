#include "tlm/base/event_queue.h"

#include <utility>

#include "tlm/base/event_alarm.h"
#include "tlm/base/reports.h"
#include "tlm/base/sudden_end.h"

namespace hcasim {

event_queue& event_queue::instance() {
  // Never destroyed: the kernel outlives every other static object.
  static event_queue& queue = *new event_queue;
  return queue;
}

event_queue::event_queue() {
  show_reports_in_time();
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.set_sensitivity(&wake_);
  options.dont_initialize();
  sc_core::sc_spawn([this] { run(); }, "event_queue", &options);
}

void event_queue::begin_with(ps when, action a) {
  future_.push(when, a);
  arm(when);
}

void event_queue::arm(ps when) {
  if (when >= armed_) return;
  armed_ = when;
  wake_at(wake_, when);
}

void event_queue::disregard(int n) {
  work_ -= n;
  if (running_) return;
  if (!done()) {
    arm(next());
  } else if (ready_.empty()) {
    wake_.cancel();
    armed_ = never;
  }
}

void event_queue::drain_ready() {
  while (ready_head_ < ready_.size()) ready_[ready_head_++]();
  ready_.clear();
  ready_head_ = 0;
}

void event_queue::run_late_item() {
  const action act = late_[static_cast<std::size_t>(late_head_++)].what;
  next_late_ = late_head_ == std::ssize(late_) ? never : first_late().when;
  --work_;
  ++hand_overs_;
  count_event();
  act();
  if (!ready_.empty()) drain_ready();
}

void event_queue::forget_late() {
  late_fixed_ = late_head_;
  if (late_head_ < 32 && late_head_ < std::ssize(late_)) return;
  late_.erase(late_.begin(), late_.begin() + late_head_);
  late_fixed_ = late_head_ = 0;
}

void event_queue::run_process() {
  late_fixed_ = late_head_ + 1;
  run_late_item();
  forget_late();
}

// Runs the items of `last` due at `t`. Items that they post for the same time come after them.
void event_queue::run_last(ps t) {
  while (late_fixed_ < std::ssize(late_) && late_[static_cast<std::size_t>(late_fixed_)].when <= t) ++late_fixed_;
  while (late_head_ < late_fixed_) run_late_item();
  forget_late();
}

// The kernel is asked again when anything that ran may have woken a process: through this border, or in a foreign model.
void event_queue::ask_kernel() {
  detail::kernel_touched = false;
  const sc_core::sc_simcontext& kernel = *sc_core::sc_get_curr_simcontext();
  sc_core::sc_time next;
  if (kernel.pending_activity_at_current_time()) {
    kernel_next_ = kernel_now();
  } else {
    kernel_next_ = kernel.next_time(next) ? to_ps(next) : never;
  }
}

void run_simulation() {
  event_queue& queue = event_queue::instance();
  plan_sudden_ends();
  queue.run_ahead(true);
  sc_core::sc_start();
  queue.run_ahead(false);
}

void event_queue::run() {
  ++activations_;
  running_ = true;
  armed_ = never;
  detail::kernel_touched = true;
  ps t = now();
  drain_ready();
  for (;;) {
    while (future_.next() <= t) {
      const action act = future_.pop();
      --work_;
      ++hand_overs_;
      count_event();
      act();
      if (!ready_.empty()) drain_ready();
    }
    if (next_late_ <= t) {
      if (first_late().its == turn::process) {
        run_process();
        continue;
      }
      if (!std::exchange(delta_passed_, false) && !kernel_is_idle_until(t)) break;
      run_last(t);
      continue;
    }
    const ps then = next();
    if (done() || !run_ahead_ || !kernel_is_idle_until(then)) break;
    detail::reached = t = then;
  }
  running_ = false;
  const bool waits = next_late_ <= t;
  delta_passed_ = waits && t == kernel_now();
  if (!waits && !done()) {
    arm(next());
  } else if (waits || t > kernel_now()) {
    arm(t);  // for the last of this time, or so that the kernel ends where the last item did
  }
}

}  // namespace hcasim
