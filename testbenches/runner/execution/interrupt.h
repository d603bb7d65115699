// Ctrl-C during a run leaves no half-written output: a thread waits for the signal, removes the folder and ends the program.
#pragma once

#include <filesystem>
#include <functional>

namespace hcasim {

// Blocks SIGINT and SIGTERM for all threads made from here on; call it before any thread exists.
void block_interrupts();

class interrupt_guard {
 public:
  // Calls `make`, which makes the folder or throws; from its first moment on an interrupt removes it.
  interrupt_guard(const std::filesystem::path& temporary_folder, const std::function<void()>& make);
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
};

// While it lives, the first Ctrl-C (or SIGTERM) only makes fd() readable: the program ends in order. A second one ends it at
// once.
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
