// A resource shared by users of two kinds, with an event queue. The kinds take turns, first come, first served within a kind. A
// kind alone has the whole resource; neither kind can hold up the other, however many of its requests come.
#pragma once

#include <array>
#include <coroutine>

#include "tlm/base/delegate.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"

namespace hcasim {

class two_class_arbiter {
 public:
  // Each turn occupies the resource for `interval`, more than zero.
  two_class_arbiter(event_queue& queue, ps interval) : queue_(queue), interval_(interval) {}

  // Runs `a` when its turn comes: at once, in the call, if that is now.
  void ask(unsigned kind, action a) {
    if (try_begin(kind)) return a();
    waiting_[kind].push(a);
    wait_for_end();
  }
  // Occupies a turn: `co_await t.turn(kind)`.
  [[nodiscard]] auto turn(unsigned kind) {
    struct awaiter {
      two_class_arbiter& owner;
      unsigned kind;
      bool await_ready() { return owner.try_begin(kind); }
      void await_suspend(std::coroutine_handle<> h) { owner.ask(kind, resume(h)); }
      void await_resume() const {}
    };
    return awaiter{*this, kind};
  }
  [[nodiscard]] ps busy_until(ps t) const { return server_.busy_until(t); }

 private:
  bool try_begin(unsigned kind) {
    if (server_.free_at() > now() || !waiting_[0].empty() || !waiting_[1].empty()) return false;
    begin(kind);
    return true;
  }
  void begin(unsigned kind) {
    server_.start(now(), interval_);
    last_ = kind;
  }
  void wait_for_end() {
    if (armed_) return;
    armed_ = true;
    queue_.at(server_.free_at(), call<&two_class_arbiter::ended>(this));
  }
  void ended() {
    armed_ = false;
    const unsigned other = 1 - last_;
    const unsigned kind = waiting_[other].empty() ? last_ : other;
    const action a = waiting_[kind].pop();
    begin(kind);
    if (!waiting_[0].empty() || !waiting_[1].empty()) wait_for_end();
    a();
  }

  event_queue& queue_;
  ps interval_;
  server server_;
  std::array<ring<action>, 2> waiting_;
  unsigned last_ = 1;
  bool armed_ = false;
};

}  // namespace hcasim
