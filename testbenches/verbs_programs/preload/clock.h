// Clocks that a program looks at are the simulated one. A look costs its thread time; it asks the simulator only when it has
// run ahead for so long that another thread might have acted.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// ns of CLOCK_REALTIME at a simulated time (ps).
std::uint64_t date_of(std::uint64_t ps);

// ps since the host began, at a simulated time.
std::uint64_t uptime_of(std::uint64_t ps);

// The calling thread's time after a look at the clock; false = there is no simulator.
bool look_at_clock(std::uint64_t& ps);
// From here on reading the time-stamp counter traps, in this thread and those that it makes.
void trap_time_stamps();
// Programs that are started next read it as it is.
void release_time_stamps();
void trap_time_stamps_again();
// Answers the instruction at a fault if it reads the time-stamp counter.
bool emulate_time_stamp(void* context);

}  // namespace hcasim::preload
