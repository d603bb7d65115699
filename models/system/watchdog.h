// Ends a run in which nothing gets on although something waits: looks four times within each of two limits, at counters that
// the units have anyway. It never keeps a simulation going, and a run that it does not end is the same run without it.
//
// It fires when for a limit no work request, completion, event or command has ended or come nearer its end, and a request has
// waited that long. One limit is simulated time, the other events (tlm/base/event_alarm.h), which are what costs host time.
// Packets that are acknowledged or placed for the first time, and accesses of the firmware for a command, are progress; what
// is sent again is none, nor are looks at the device's health. Software that sleeps is no stall; work that is repeated for
// ever is one.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tlm/base/unit.h"

namespace hcasim {

class watchdog {
 public:
  struct limits {
    ps time;               // `never`: it does not look
    std::uint64_t events;  // 0 = it does not count them
  };
  // `top`: below it are the units. `adapters`: their names by LID.
  watchdog(const sc_core::sc_object& top, std::vector<std::string> adapters, limits most);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // Why it ended the run; empty = it did not.
  [[nodiscard]] const std::string& stalled() const { return stalled_; }
  // Returns what waits now, and for what; empty = nothing.
  [[nodiscard]] std::string waiting() const;
  // All of the system.
  [[nodiscard]] std::vector<const unit*> units() const;

 private:
  static constexpr unsigned looks = 4;  // within a limit

  [[nodiscard]] std::uint64_t progress() const;
  void look_at_time();
  void look_at_time_again();
  void look_at_events();
  void look_at_events_again();
  // Ends the run if a request has waited since `begin`.
  bool ends(ps begin);
  [[nodiscard]] waiting_list list() const;

  const sc_core::sc_object& top_;
  const std::vector<std::string> adapters_;
  const limits most_;
  event_queue& queue_ = event_queue::instance();
  std::uint64_t progress_ = 0;      // at the last look at the time
  ps since_{0};                     // and since when it has been that
  std::uint64_t counted_ = 0;       // the progress at the last look at the events
  unsigned quiet_ = 0;              // looks at the events since then
  std::array<ps, looks> looked_{};  // the last times of those, in turn
  std::string stalled_;
};

}  // namespace hcasim
