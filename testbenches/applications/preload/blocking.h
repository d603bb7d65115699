// Calls that sleep in the kernel: they are tried without sleeping first, and sleep in simulated time otherwise.
#pragma once

#include <cstdint>

namespace hcasim::preload {

// Takes one token from a pipe, sleeping for it unless the descriptor says otherwise. False: none, with errno.
bool take_token(int fd);
// Whether calls on it are meant to sleep.
bool may_sleep(int fd);
// Sleeps until a descriptor is ready. False: the time (ps) is over.
bool wait_for(int fd, short events, std::uint64_t timeout);

}  // namespace hcasim::preload
