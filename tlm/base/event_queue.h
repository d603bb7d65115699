// The list of future work, one for all units, so that everything happens in the order of simulated time. Items of the same time
// run in the order in which they were posted. `soon` runs work after the current item, `as_process` after all work known for
// its time, `last` after that.
//
// One kernel process runs the queue. While the kernel has nothing to do before the next item, time goes on without the kernel
// (`run_ahead`). The starter of a simulation may allow this when nothing but events ends the run.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "tlm/base/kernel.h"
#include "tlm/base/time_wheel.h"

namespace hcasim {

struct action {
  void (*run)(void*) = nullptr;
  void* context = nullptr;

  void operator()() const { run(context); }
};

inline action resume(std::coroutine_handle<> h) {
  return {[](void* address) { std::coroutine_handle<>::from_address(address).resume(); }, h.address()};
}

class event_queue {
 public:
  // Returns the queue of this process. The first call must come before the simulation starts.
  static event_queue& instance();
  event_queue(const event_queue&) = delete;
  event_queue& operator=(const event_queue&) = delete;

  void at(ps when, action a) {
    ++work_;
    if (!running_) [[unlikely]] {
      return begin_with(when, a);
    }
    future_.push(when, a);
  }
  void soon(action a) {
    ready_.push_back(a);
    if (!running_) arm(now());
  }
  // Runs after the items of its time and before the last ones, like a kernel process.
  void as_process(ps when, action a) { add_late(when, a, turn::process); }
  // Runs after the items and processes of its time, and after kernel processes awake by then.
  void last(ps when, action a) { add_late(when, a, turn::last); }
  void last(action a) { last(now(), a); }

  // Resumes a `co_await queue.until(t)` at t, or at once when t has passed.
  [[nodiscard]] auto until(ps when) {
    struct awaiter {
      event_queue& queue;
      ps when;
      bool await_ready() const { return when <= now(); }
      void await_suspend(std::coroutine_handle<> h) const { queue.at(when, resume(h)); }
      void await_resume() const {}
    };
    return awaiter{*this, when};
  }

  // Counts `n` more (fewer) waiting items as idle: they do not keep the simulation going.
  void disregard(int n);

  // Schedules overdue idle items, after time has passed without the queue.
  void caught_up() {
    if (armed_ == never && !running_ && next() <= kernel_now()) arm(kernel_now());
  }

  // Allows time to pass without the kernel; not with sc_start(duration), whose end the queue would pass.
  void run_ahead(bool allowed) { run_ahead_ = allowed; }

  // Returns how often the kernel activated the queue's process; a fast model keeps this and hand_overs (items run) low.
  [[nodiscard]] std::uint64_t activations() const { return activations_; }
  [[nodiscard]] std::uint64_t hand_overs() const { return hand_overs_; }

 private:
  enum class turn : std::uint8_t { process, last };
  struct late_item {
    ps when;
    turn its;
    action what;

    [[nodiscard]] bool after(ps t, turn other) const { return when != t ? when > t : its > other; }
  };

  event_queue();
  void run();
  void drain_ready();
  void add_late(ps when, action a, turn its) {
    when = std::max(when, now());
    auto at = late_.end();
    while (at - late_.begin() > late_fixed_ && std::prev(at)->after(when, its)) --at;
    late_.insert(at, {when, its, a});
    ++work_;
    next_late_ = std::min(next_late_, when);
    if (!running_) arm(when);
  }
  void run_process();
  void run_last(ps t);
  void run_late_item();
  void forget_late();
  void begin_with(ps when, action a);
  void arm(ps when);
  [[nodiscard]] const late_item& first_late() const { return late_[static_cast<std::size_t>(late_head_)]; }
  [[nodiscard]] ps next() const { return std::min(future_.next(), next_late_); }
  [[nodiscard]] bool done() const { return work_ <= 0; }
  [[nodiscard]] bool kernel_is_idle_until(ps when) {
    if (detail::kernel_touched) ask_kernel();
    return kernel_next_ > when;
  }
  void ask_kernel();

  // Members that each item needs come first: code for near places is shorter.
  std::ptrdiff_t work_ = 0;  // waiting items of `at`, `as_process` and `last`, without the idle ones
  ps next_late_ = never;
  ps kernel_next_{0};  // the kernel's next activity, while no event was notified
  std::uint64_t hand_overs_ = 0;
  bool running_ = false;
  bool run_ahead_ = false;
  bool delta_passed_ = false;  // the delta cycle that `last` waits for has passed
  std::vector<action> ready_;  // of `soon`
  std::size_t ready_head_ = 0;
  time_wheel<action> future_;
  // By time, then turn: a new item is nearly always later than all others.
  std::vector<late_item> late_;
  std::ptrdiff_t late_head_ = 0;
  std::ptrdiff_t late_fixed_ = 0;  // new items come after these: the items gone, and those of `last` in hand
  std::uint64_t activations_ = 0;
  ps armed_ = never;
  sc_core::sc_event wake_;
};

// Runs sc_start() until nothing is left to do or the simulation is stopped, as fast as possible.
void run_simulation();

}  // namespace hcasim
