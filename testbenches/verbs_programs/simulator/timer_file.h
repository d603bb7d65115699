// A timer of a program that is a file. Its work costs no time of the host's, so it is never late.
#pragma once

#include <functional>

#include "tlm/base/kernel.h"

namespace hcasim::applications {

class timer_file {
 public:
  timer_file();
  timer_file(const timer_file&) = delete;
  timer_file& operator=(const timer_file&) = delete;

  // `count` is told +1 when it expires and -1 when that was read.
  void open(std::function<void(int)> count);
  void close();
  [[nodiscard]] bool is_open() const { return count_ != nullptr; }

  // `first` from now on, then every `interval`; 0 = it stops, or expires once.
  void set(ps first, ps interval);
  [[nodiscard]] ps left() const { return due_ == never ? ps(0) : std::max(due_ - now(), ps(0)); }
  [[nodiscard]] ps interval() const { return interval_; }
  // Returns how often it has expired since it was set or read last. While it is not read, it does not wake the simulation
  // again.
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
