// Calls that sleep in the kernel: each is first tried without a sleep, and then sleeps in simulated time.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Takes one token from a pipe, sleeping for it unless the descriptor says otherwise. False = none, with errno.
bool take_token(int fd);
// Tells whether calls on the descriptor may sleep.
bool may_sleep(int fd);
// Sleeps until a descriptor, not ready now, is ready. Returns 0, or the errno value of the call: EINTR, or EAGAIN when the
// socket's own time limit is over.
int sleep_until_ready(int fd, short events);
// Sleeps until one of the signals waits or the time (ps) is over.
void wait_for_signals(std::uint64_t timeout, std::uint64_t signals);

}  // namespace hcasim::preload
