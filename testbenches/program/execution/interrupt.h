// Removes half-written output when a signal ends a run: a thread waits for the signal, removes the output and ends the program.
// An exception that leaves a thread does the same.
#pragma once

#include <filesystem>
#include <functional>

namespace hcasim {

class interrupt_guard {
 public:
  // Calls `make`, which makes the folder or file, or throws; from its first moment on a signal removes it, and the empty
  // folders above it up to `made`. Throws input_error when no thread can wait. Call it before other threads exist.
  interrupt_guard(const std::filesystem::path& unfinished, const std::filesystem::path& made,
                  const std::function<void()>& make);
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
};

// While it lives, the first signal only makes fd() readable: the program ends in order. A second one ends it at once.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // 128 + the signal's number.
  [[nodiscard]] static int exit_status();

 private:
  int fd_;
};

}  // namespace hcasim
