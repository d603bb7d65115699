// Timers that send signals, in simulated time. A thread looks for due timers after each answer of the simulator and each read
// of the clock. A due timer ends sleeps.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Sends the signal of a timer that is due by `now` (ps).
void deliver_timers(std::uint64_t now);
// Drops all timers in the child of a fork.
void forget_timers();
// Returns the time until the next timer is due, or `timeout` if less.
std::uint64_t no_longer_than_timer(std::uint64_t timeout);

}  // namespace hcasim::preload
