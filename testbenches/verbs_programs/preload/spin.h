// A thread that waits for memory makes no call. The simulator sends a signal to a thread that has been quiet for a while. The
// handler lets the thread go on in single steps and compares them. A thread changes nothing if its rounds have equal registers
// and stack, without a read of the clock. Such a thread can only be waiting, and asks to sleep.
#pragma once

namespace hcasim::preload {

// Installs handlers for faults, steps and the simulator's signal. The program's handlers are kept, and called for the program's
// own signals. False = the system refuses.
bool catch_faults();
// Returns the number of the simulator's signal.
int spin_signal();
// Lets the simulator send its signal to this thread. False, before the process becomes another program, stops and blocks the
// signal. A pending one stays blocked until the library in the new program has its handler.
void accept_spin_signal(bool on);
// Starts the timer of a thread that has waited for memory before, after each answer; stops the timer before each request.
void watch_for_spin(bool begins);
// Ends the watch in a thread that ends, and in the child of a fork, which has no timers.
void end_watch();

}  // namespace hcasim::preload
