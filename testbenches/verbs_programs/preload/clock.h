// Clocks of programs show simulated time. A read costs the thread time. The thread asks the simulator only when another thread
// might have acted since its last request.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Returns CLOCK_REALTIME in ns at a simulated time (ps).
std::uint64_t date_of(std::uint64_t ps);

// Returns the ps since the host began, at a simulated time.
std::uint64_t uptime_of(std::uint64_t ps);

// Reads the calling thread's time, and charges the read. False = there is no simulator.
bool look_at_clock(std::uint64_t& ps);
// Makes reads of the time-stamp counter fault from now on, in this thread and its later children. The kernel does so, or other
// instructions in their place.
void trap_time_stamps();
// Lets programs that are started next read the machine's time-stamp counter.
void release_time_stamps();
void trap_time_stamps_again();
// Answers the instruction at a fault if it reads the time-stamp counter.
bool emulate_time_stamp(void* context);

}  // namespace hcasim::preload
