// Removes half-written output when a signal ends a run: a thread waits for the signal, removes the output and ends the program.
// An exception that leaves a thread does the same.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace hcasim {

class interrupt_guard {
 public:
  // Calls `make`, which makes the folder or file, or throws. From then on a signal removes the result, and the empty folders
  // above it up to `made`. Throws input_error when no thread can wait. Call the constructor before other threads exist.
  interrupt_guard(const std::filesystem::path& unfinished, const std::filesystem::path& made,
                  const std::function<void()>& make);
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
};

// Makes the first signal only set fd() readable, so that the program ends in order. A second signal ends the program at once.
// With `patience` the program also ends at once when it has not noticed the first signal for so long. Of several, the newest
// has the signals.
class interrupt_watch {
 public:
  explicit interrupt_watch(std::chrono::milliseconds patience = {});
  ~interrupt_watch();
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // Returns the name of the signal that has come to this watch; empty = none. The program ends in order from now on.
  [[nodiscard]] std::string noticed() const;
  // Returns 128 + the signal's number.
  [[nodiscard]] static int exit_status();

 private:
  int fd_;
  int outer_;  // that had the signals before
};

}  // namespace hcasim
