// Looks after a run every few thousand events. Tells on standard error how far the run is. Ends the run in order at a signal:
// all recorded until then is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "testbenches/program/execution/interrupt.h"
#include "tlm/base/event_alarm.h"
#include "tlm/base/unit.h"

namespace hcasim {

// The way to tell the progress; terminal: one line, written anew each time.
enum class progress_mode : std::uint8_t { none, terminal, lines };

class run_watch {
 public:
  run_watch(std::string name, progress_mode mode);
  ~run_watch() { clear(); }
  run_watch(const run_watch&) = delete;
  run_watch& operator=(const run_watch&) = delete;

  // Sets the share of the work that is done, 0 to 1. The time left follows from this share.
  void estimate_by(std::function<double()> share) { share_ = std::move(share); }
  // Sets what the run is doing.
  void note(std::string step) { step_ = std::move(step); }

  // Looks on from now on; `units`: whose operations are told.
  void begin(std::vector<unit*> units);
  void end();
  // Returns the signal that ended the run, "SIGINT (Interrupt)"; empty = none did.
  [[nodiscard]] const std::string& stopped_by() const { return stopped_by_; }

 private:
  using clock = std::chrono::steady_clock;

  void look();
  void tell(clock::time_point t);
  void clear();
  [[nodiscard]] std::string text(double seconds, std::uint64_t operations) const;

  const std::string name_;
  const progress_mode mode_;
  interrupt_watch signals_{std::chrono::milliseconds(700)};
  event_alarm alarm_;
  std::vector<unit*> units_;
  std::function<double()> share_;
  std::string step_;
  std::string stopped_by_;
  clock::time_point begin_ = clock::now();
  clock::time_point told_ = begin_;
  std::uint64_t told_operations_ = 0;
  bool shown_ = false;
};

}  // namespace hcasim
