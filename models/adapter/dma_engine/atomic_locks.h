// Locks of atomics. Atomics of one bucket follow one another [O8e, O11]. With `waiters`, no atomic enters while so many wait
// for a lock: a conflict then stops atomics of other buckets, too.
#pragma once

#include "models/adapter/dma_engine/burst.h"
#include "tlm/base/lazy_array.h"

namespace hcasim {

class atomic_locks {
 public:
  // `waiters`: 0 = not limited.
  atomic_locks(std::uint32_t buckets, std::uint32_t waiters) : buckets_(buckets), waiters_(waiters) {}

  // Enters an atomic; true = it has its lock.
  bool take(dma_job& j);
  // Opens the lock of an address. The next atomics that have theirs come out of `next()`.
  void give(std::uint64_t address);
  // Returns an atomic that has its lock and has not begun, or null.
  dma_job* next() { return ready_.empty() ? nullptr : &ready_.pop(); }

  [[nodiscard]] std::uint32_t held() const { return held_; }

 private:
  struct bucket {  // all zero = open
    bool locked = false;
    dma_fifo waiting;
  };
  [[nodiscard]] bool is_full() const { return waiters_ != 0 && waiting_ >= waiters_; }
  bool lock(dma_job& j);
  bucket& bucket_of(std::uint64_t address);

  lazy_array<bucket> buckets_;
  std::uint32_t waiters_;
  std::uint32_t waiting_ = 0;  // for locks
  std::uint32_t held_ = 0;
  dma_fifo outside_;  // behind the waiting ones
  dma_fifo ready_;
};

}  // namespace hcasim
