// Signals to processes that this one has started. The number of a process that could not be started is -1, which kill() takes
// for every process of the machine.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/types.h>

namespace hcasim {

// Sends a signal to one process. False = it has ended, or was never started (a number below 2).
inline bool signal_process(pid_t process, int signal) {
  return process > 1 && ::kill(process, signal) == 0;
}

// Sends a signal to all processes of a leader's group; false as above.
inline bool signal_group(pid_t leader, int signal) {
  return leader > 1 && ::kill(-leader, signal) == 0;
}

}  // namespace hcasim
