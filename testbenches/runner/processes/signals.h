// The standard files and the signals of a program, from its first moment on.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t is POSIX

namespace hcasim {

// Call it before any thread exists. Standard files that are closed become /dev/null, so that no file of a run takes their
// number; output that is closed stays an error. Writes that a signal would end fail instead: a pipe that is closed, a limit of
// file sizes.
void begin_program();

// Signals that end a program unless they are ignored, as nohup and shells have them ignored.
sigset_t ending_signals();
// "SIGTERM (Terminated)".
const char* signal_name(int signal);

// In a child that becomes another program: the signals are as this program found them.
void restore_signals();
// In a child that goes on: it has no thread that waits for signals, and its limit of processor time is its own.
void end_at_time_limit();

}  // namespace hcasim
