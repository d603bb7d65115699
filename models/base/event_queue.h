// A unit's list of future work: one kernel event however many items wait, woken at the next useful time only.
// Items at the same time run in the order they were posted. `soon` runs work after the current item, without a kernel event.
#pragma once

#include <coroutine>
#include <cstdint>
#include <vector>

#include "models/base/kernel.h"

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
  // Construct inside a module's constructor: the queue's process becomes a child of that module.
  explicit event_queue(const char* name);
  event_queue(const event_queue&) = delete;
  event_queue& operator=(const event_queue&) = delete;

  void at(ps when, action a);
  void soon(action a);

  // `co_await queue.until(t)`: go on when the kernel has reached t; at once if it has already.
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

  // Kernel activations of all queues of this process; the cost that a fast model keeps low.
  static std::uint64_t activations() { return activations_; }

 private:
  struct item {
    ps when;
    std::uint64_t order;
    action act;
    bool operator<(const item& o) const { return when != o.when ? when > o.when : order > o.order; }
  };

  void run();
  void drain_ready();
  void arm(ps when);

  sc_core::sc_event wake_;
  ps armed_ = never;
  bool running_ = false;
  std::uint64_t posted_ = 0;
  std::vector<item> future_;  // heap, earliest on top
  std::vector<action> ready_;
  std::size_t ready_head_ = 0;

  static std::uint64_t activations_;
};

}  // namespace hcasim
