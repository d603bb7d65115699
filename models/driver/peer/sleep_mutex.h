// A lock between software threads of a host: who finds it taken sleeps, first come, first served. One thread may take it and
// another one give it back.
#pragma once

#include "models/driver/device/wait_queue.h"

namespace hcasim::driver::peer {

class sleep_mutex {
 public:
  void lock(cpu& c) {
    const std::uint64_t ticket = next_++;
    freed_.sleep_until(c, [this, ticket] { return !owner_ && serving_ == ticket; });
    owner_ = &c;
  }
  void unlock() {
    owner_ = nullptr;
    ++serving_;
    freed_.wake();
  }
  [[nodiscard]] bool held() const { return owner_ != nullptr; }
  [[nodiscard]] bool held_by(const cpu& c) const { return owner_ == &c; }

 private:
  const cpu* owner_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
  wait_queue freed_;
};

}  // namespace hcasim::driver::peer
