// Ends a run in which nothing completes although something waits: looks four times within the limit, at counters that the units
// have anyway. It never keeps a simulation going, and a run that it does not end is the same run without it.
//
// It fires when for the limit no work request, completion or command has ended and a request has waited that long. Software
// that sleeps is no stall; work that is repeated for ever is one.
#pragma once

#include <string>
#include <vector>

#include "tlm/base/unit.h"

namespace hcasim {

class watchdog {
 public:
  // `top`: below it are the units. `adapters`: their names by LID. `limit` of never: it does not look.
  watchdog(const sc_core::sc_object& top, std::vector<std::string> adapters, ps limit);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // Why it ended the run; empty: it did not.
  [[nodiscard]] const std::string& stalled() const { return stalled_; }
  // Returns what waits now, and for what; empty = nothing.
  [[nodiscard]] std::string waiting() const;
  // All of the system.
  [[nodiscard]] std::vector<const unit*> units() const;

 private:
  void look();
  void look_again();
  [[nodiscard]] waiting_list list() const;

  const sc_core::sc_object& top_;
  const std::vector<std::string> adapters_;
  const ps limit_;
  event_queue& queue_ = event_queue::instance();
  std::uint64_t completed_ = 0;
  ps since_{0};  // nothing has completed
  std::string stalled_;
};

}  // namespace hcasim
