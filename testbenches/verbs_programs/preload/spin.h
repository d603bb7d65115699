// A thread that waits for memory makes no call. When it has been quiet for a while the simulator sends it a signal; the handler
// lets it go on in single steps and compares what it does. A thread that comes to the same place with the same registers, the
// same stack and no look at the clock in between changes nothing: it can only be waiting, and asks to sleep.
#pragma once

namespace hcasim::preload {

// The library's handlers for faults, steps and the simulator's signal; handlers of the program's are kept and called for what
// is theirs. False = the system refuses.
bool catch_faults();
// The simulator's signal.
int spin_signal();
// A thread that waits for memory now and then: begins behind an answer, ends before a request.
void watch_for_spin(bool begins);
// A thread ends, or is the child of a fork, which has no timers.
void end_watch();

}  // namespace hcasim::preload
