// Ends a run in which nothing gets on although something waits. It looks at the units' own counters four times within each of
// two limits. It never keeps a simulation going, and a run without a stall is unchanged.
//
// It fires when, for a limit, no work request, completion, event or command has ended or come nearer its end. Also, a request
// must have waited as long. One limit is simulated time; the other is events (tlm/base/event_alarm.h), which cost host time.
// Progress: a packet acknowledged or placed for the first time, or an access of the firmware for a command. No progress: a
// retransmission, a look at the device's health. Software that sleeps is no stall; endlessly repeated work is one.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tlm/base/event_alarm.h"
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
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // Returns why the watchdog ended the run; empty = it did not.
  [[nodiscard]] const std::string& stalled() const { return stalled_; }
  // Returns the waiting requests, and their reasons; empty = none.
  [[nodiscard]] std::string waiting() const;
  // Returns all units of the system.
  [[nodiscard]] std::vector<const unit*> units() const;

 private:
  static constexpr unsigned looks = 4;  // within a limit

  [[nodiscard]] std::uint64_t progress() const;
  void look_at_time();
  void look_at_time_again();
  void time_is_up();
  void look_at_events();
  void look_at_events_again();
  // Ends the run if a request has waited since `begin`.
  bool ends(ps begin);
  [[nodiscard]] waiting_list list() const;

  const sc_core::sc_object& top_;
  const std::vector<std::string> adapters_;
  const limits most_;
  event_queue& queue_ = event_queue::instance();
  event_alarm after_events_;
  std::uint64_t progress_ = 0;      // at the last look at the time
  ps since_{0};                     // and the time of its last change
  std::uint64_t counted_ = 0;       // the progress at the last look at the events
  unsigned quiet_ = 0;              // looks at the events since then
  std::array<ps, looks> looked_{};  // the times of the last looks, in turn
  std::string stalled_;
};

}  // namespace hcasim
