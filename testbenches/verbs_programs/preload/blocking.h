// Calls that sleep in the kernel: they are tried without sleeping first, and sleep in simulated time otherwise.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Takes one token from a pipe, sleeping for it unless the descriptor says otherwise. False = none, with errno.
bool take_token(int fd);
// Whether calls on it are meant to sleep.
bool may_sleep(int fd);
// Sleeps until a descriptor is ready, which it is not. 0, or the errno value with which the call ends: EINTR, EAGAIN when the
// socket's own limit of time is over.
int sleep_until_ready(int fd, short events);
// Sleeps until one of the signals waits or the time (ps) is over.
void wait_for_signals(std::uint64_t timeout, std::uint64_t signals);

}  // namespace hcasim::preload
