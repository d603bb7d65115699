// Simulated time behind wall-clock time: never ahead of it, and as close as the host can keep it. Plain C++.
//
// The stepper of a simulation asks, at each step, how long to wait at most before it goes on, and afterwards how far it may go.
// While simulated time keeps up, a frame that ends the wait enters the simulation at the very time at which it came. What the
// host cannot catch up soon slips: from then on simulated time is later by that much, so that timers of the two sides keep
// running alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim::gateway {

struct pacing {
  ps step = 20_us;      // what is simulated between two looks outside, while there is something to do
  ps idle_step = 1_ms;  // the longest, while there is not
  ps most_lag = 10_ms;  // what is caught up; more slips
};

class pacer {
 public:
  explicit pacer(const pacing& p) : config_(p), nap_(p.step) {}

  // At simulated time `now`; `busy`: something went through since the last step. 0 = behind, do not wait.
  ps wait_at_most(ps now, ps wall, bool busy) {
    nap_ = busy ? config_.step : std::min(2 * nap_, config_.idle_step);
    lag_ = std::max(wall - slipped_ - now, ps(0));
    most_lag_ = std::max(most_lag_, lag_);
    if (lag_ > config_.most_lag) {
      slipped_ += lag_ - config_.most_lag;
      lag_ = config_.most_lag;
    }
    return std::max(now + nap_ - (wall - slipped_), ps(0));
  }
  // The next step, when the wait is over at `wall`. Later than `now`.
  [[nodiscard]] ps next_step(ps now, ps wall) const {
    return std::clamp(wall - slipped_, now + ps(1), now + std::max(nap_, config_.step));
  }

  [[nodiscard]] ps lag() const { return lag_; }
  [[nodiscard]] ps most_lag() const { return most_lag_; }
  [[nodiscard]] ps slipped() const { return slipped_; }

 private:
  pacing config_;
  ps nap_;
  ps lag_{0};
  ps most_lag_{0};
  ps slipped_{0};
};

}  // namespace hcasim::gateway
