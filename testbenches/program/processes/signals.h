// Prepares the standard files and the signals of a program.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t is POSIX

namespace hcasim {

// Opens /dev/null for closed standard files, so that no file of a run takes their number; writing to closed output stays an
// error. Blocks the signals of failed writes (a closed pipe, a limit of file sizes). Call it before any thread exists.
void begin_program();

// Returns the signals that end this program; those that nohup or a shell ignores are left out.
sigset_t ending_signals();
// Returns "SIGTERM (Terminated)".
const char* signal_name(int signal);

// Restores the signals that this program found; for a child that becomes another program.
void restore_signals();
// Unblocks the signal of the limit of processor time; for a child without a thread that waits for signals.
void end_at_time_limit();

}  // namespace hcasim
