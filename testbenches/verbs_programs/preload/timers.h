// Timers that send signals, in simulated time. A thread looks whether one is due when it comes back from the simulator or has
// looked at the clock; sleeps end when one is.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Sends the signal of a timer that is due by `now` (ps).
void deliver_timers(std::uint64_t now);
// The child of a fork has none.
void forget_timers();
// The time until the next one is due, if that is less.
std::uint64_t no_longer_than_timer(std::uint64_t timeout);

}  // namespace hcasim::preload
