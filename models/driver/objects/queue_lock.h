// A queue's lock, as in libibverbs: verbs are thread-safe, so calls of several threads on one queue follow one another in
// simulated time. A thread whose local time is before the end of the last call waits for that end. A queue with one thread
// never waits. The first call of a second thread may come up to `host.run_ahead` late; later calls are exact. Calls do not give
// up the processor while they hold the lock.
#pragma once

#include "models/machine/host/cpu.h"

namespace hcasim::driver {

class queue_lock {
 public:
  class [[nodiscard]] holder {
   public:
    holder(queue_lock& lock, cpu& c) : lock_(lock), cpu_(c) { lock.take(c); }
    ~holder() { lock_.free_at_ = cpu_.time(); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

   private:
    queue_lock& lock_;
    cpu& cpu_;
  };

 private:
  void take(cpu& c) {
    if (only_user_ != &c) [[unlikely]]
      take_shared(c);
  }
  void take_shared(cpu& c) {
    if (!only_user_ && !shared_) {
      only_user_ = &c;
      return;
    }
    only_user_ = nullptr;
    shared_ = true;
    c.sync();
    while (free_at_ > c.time()) {
      c.spend(free_at_ - c.time());
      c.sync();
    }
  }

  const cpu* only_user_ = nullptr;
  bool shared_ = false;
  ps free_at_{0};
};

}  // namespace hcasim::driver
