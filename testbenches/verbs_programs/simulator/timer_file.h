// A program's timer file (timerfd). Its work costs no host time, so the timer is never late.
#pragma once

#include <functional>

#include "tlm/base/kernel.h"

namespace hcasim::applications {

class timer_file {
 public:
  timer_file();
  timer_file(const timer_file&) = delete;
  timer_file& operator=(const timer_file&) = delete;

  // Opens the timer. `count` is called with +1 when the timer expires, and with -1 when the program has read the expiry.
  void open(std::function<void(int)> count);
  void close();
  [[nodiscard]] bool is_open() const { return count_ != nullptr; }

  // Starts the timer. `first`: time until the first expiry (0 = the timer stops); `interval`: between further ones (0 = none).
  void set(ps first, ps interval);
  [[nodiscard]] ps left() const { return due_ == never ? ps(0) : std::max(due_ - now(), ps(0)); }
  [[nodiscard]] ps interval() const { return interval_; }
  // Returns how often the timer has expired since the last call or `set`. An expired timer does not wake the simulation again
  // before this call.
  std::uint64_t take();

 private:
  void expire();

  std::function<void(int)> count_;
  ps due_ = never;
  ps interval_{0};
  bool counted_ = false;
  sc_core::sc_event time_;
};

}  // namespace hcasim::applications
