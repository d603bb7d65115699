// Signals with a handler that come while a thread sleeps in a system call. They wait until the simulator has woken the thread,
// so handlers run at a simulated time.
#pragma once

#include <csignal>
#include <cstdint>

namespace hcasim::preload {

// Notes whether a signal has a handler, and whether an interrupted call restarts.
void note_action(int signal, const struct sigaction& action);
// Returns the signals of all files (signalfd) that the process has made.
std::uint64_t signals_of_files();

constexpr std::uint64_t bit_of(int signal) {
  return std::uint64_t{1} << (signal - 1);
}
std::uint64_t bits_of(const sigset_t& set);

// Holds back signals with handlers until the request is answered. Returns them, bit n - 1 for signal n.
std::uint64_t hold_for_request();
// Releases held signals. With `look`, returns whether one of them has come, at the cost of a system call.
bool let_after_request(std::uint64_t held, bool look);

// Holds signals back during its lifetime.
class held_signals {
 public:
  // `mask`: signals that the call blocks in its sleep; null = the thread's own mask.
  explicit held_signals(const sigset_t* mask = nullptr);
  ~held_signals();
  held_signals(const held_signals&) = delete;
  held_signals& operator=(const held_signals&) = delete;

  // Returns the signals that end a sleep.
  [[nodiscard]] std::uint64_t waking() const { return waking_; }
  // Runs the handlers of waiting signals. True = a handler has run and interrupts the call. With `restarts`, handlers with
  // SA_RESTART do not interrupt.
  bool interrupt(bool restarts = false);

 private:
  void hold();
  void let();

  bool has_mask_;
  std::uint64_t mask_ = 0;
  std::uint64_t held_ = 0;  // 0 = none is held
  std::uint64_t before_ = 0;
  std::uint64_t waking_ = 0;
};

}  // namespace hcasim::preload
