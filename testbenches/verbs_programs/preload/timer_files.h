// Timers that are files (timerfd), in simulated time.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace hcasim::preload {

bool is_timer_file(int fd);
// Reads as read(2) of a descriptor that does not sleep: 8, or -1 with errno.
ssize_t read_timer(int fd, void* to, size_t n);
// Drops a descriptor before its number is used again.
void drop_timer_file(int fd);
// Drops all timers in the child of a fork, which does not have its parent's.
void disown_timer_files();

}  // namespace hcasim::preload
