#include "tlm/base/event_queue.h"

#include <utility>

namespace hcasim {

event_queue& event_queue::instance() {
  // Never destroyed: the kernel outlives every other static object.
  static event_queue& queue = *new event_queue;
  return queue;
}

event_queue::event_queue() {
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.set_sensitivity(&wake_);
  options.dont_initialize();
  sc_core::sc_spawn([this] { run(); }, "event_queue", &options);
}

void event_queue::arm(ps when) {
  if (when >= armed_) return;
  armed_ = when;
  wake_at(wake_, when);
}

void event_queue::disregard(int n) {
  idle_ += static_cast<std::size_t>(n);
  if (running_) return;
  if (!done()) {
    arm(future_.next());
  } else if (ready_.empty() && last_.empty()) {
    wake_.cancel();
    armed_ = never;
  }
}

void event_queue::drain_ready() {
  while (ready_head_ < ready_.size()) ready_[ready_head_++]();
  ready_.clear();
  ready_head_ = 0;
}

void event_queue::run_last() {
  running_last_.swap(last_);
  for (const action& a : running_last_) {
    ++hand_overs_;
    a();
    if (!ready_.empty()) drain_ready();
  }
  running_last_.clear();
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
      ++hand_overs_;
      act();
      if (!ready_.empty()) drain_ready();
    }
    if (!last_.empty()) {
      if (!std::exchange(delta_passed_, false) && !kernel_is_idle_until(t)) break;
      run_last();
      continue;
    }
    const ps next = future_.next();
    if (done() || !run_ahead_ || !kernel_is_idle_until(next)) break;
    detail::reached = t = next;
  }
  running_ = false;
  delta_passed_ = !last_.empty() && t == kernel_now();
  if (last_.empty() && !done()) {
    arm(future_.next());
  } else if (!last_.empty() || t > kernel_now()) {
    arm(t);  // for the last of this time, or so that the kernel ends where the last item did
  }
}

}  // namespace hcasim
