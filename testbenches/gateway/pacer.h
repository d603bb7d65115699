// Paces simulated time behind wall-clock time: never ahead, and as close as the host can keep up. Plain C++.
//
// At each step the simulation's stepper asks for the longest wait before going on, and afterwards for the end of the step.
// While simulated time keeps up, a frame that ends the wait enters the simulation at its time of arrival. A lag that the host
// cannot catch up soon slips: simulated time stays later by this amount. Timers of the two sides thus keep running alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim::gateway {

struct pacing {
  ps step = 20_us;      // simulated time between two looks outside, while there is work
  ps idle_step = 1_ms;  // the longest step, without work
  ps most_lag = 10_ms;  // the largest lag to catch up; more slips
};

class pacer {
 public:
  explicit pacer(const pacing& p) : config_(p), nap_(p.step) {}

  // Returns the longest wait at simulated time `now`; 0 = behind, do not wait. `busy`: packets passed since the last step.
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
  // Returns the end of the next step when the wait is over at `wall`; later than `now`.
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
