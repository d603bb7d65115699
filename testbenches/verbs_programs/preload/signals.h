// Signals that a program handles, while a thread of it sleeps in a call of the system: they wait until the simulator has woken
// the thread, so that handlers run at a simulated time.
#pragma once

#include <csignal>
#include <cstdint>

namespace hcasim::preload {

// Keeps which signals have a handler, and which handlers let an interrupted call go on.
void note_action(int signal, const struct sigaction& action);
// Returns the signals of all files of signals (signalfd) that the process has made.
std::uint64_t signals_of_files();

constexpr std::uint64_t bit_of(int signal) {
  return std::uint64_t{1} << (signal - 1);
}
std::uint64_t bits_of(const sigset_t& set);

// Around a request: a handler that would run meanwhile runs when it is answered. Returns the signals held back, bit n - 1 for
// signal n.
std::uint64_t hold_for_request();
// With `look`, returns whether one has come: a call of the system more.
bool let_after_request(std::uint64_t held, bool look);

// Holds signals back while it lives.
class held_signals {
 public:
  // `mask`: what the call blocks while it sleeps; null = what the thread blocks.
  explicit held_signals(const sigset_t* mask = nullptr);
  ~held_signals();
  held_signals(const held_signals&) = delete;
  held_signals& operator=(const held_signals&) = delete;

  // Those that end a sleep.
  [[nodiscard]] std::uint64_t waking() const { return waking_; }
  // Runs the handlers of the signals that wait. True = one has run, and the call is interrupted; with `restarts` only by
  // handlers without SA_RESTART.
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
