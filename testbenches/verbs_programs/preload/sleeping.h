// A thread sleeps in simulated time: for descriptors, for signals, or for a while.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdint>

#include "testbenches/verbs_programs/channel/requests.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/signals.h"

namespace hcasim::preload {

// A signal that the simulator sends to a thread that it suspects of spinning interrupts even a look that does not sleep.
template <class Look>
int undisturbed(Look look_once) {
  for (;;) {
    const int ready = static_cast<int>(look_once());
    if (ready >= 0 || errno != EINTR) return ready;
  }
}
int look(pollfd* fds, nfds_t n);

// Sleeps until a descriptor is ready or one of the signals waits. False = the time (ps) is over.
bool sleep_for(const pollfd* fds, nfds_t n, std::uint64_t timeout, std::uint64_t signals);

// Waits for another thread of the program or its family to run, or for a handler. `again`: the caller has looked since, and has
// changed nothing; the value returned is that of its next call.
// `all`: threads of other programs count, too.
std::uint32_t wait_for_others(std::uint64_t timeout, std::uint32_t again = 0, bool all = false);

// After a call that does not sleep and has found nothing. Once costs nothing; a program that looks again and again sleeps.
void nothing_there(const pollfd* fds, nfds_t n);

// Sleeps between looks until one finds something or the time is over. `look_once` gives what the call gives, 0 for nothing;
// `mask`: the signals that the call blocks.
template <class Look>
int until(Look look_once, std::uint64_t timeout, const pollfd* fds, nfds_t n, const sigset_t* mask = nullptr) {
  std::uint64_t begin = 0;
  look_at_clock(begin);
  if (const int found = look_once(); found != 0) return found;
  if (timeout == 0) {
    nothing_there(fds, n);
    return look_once();
  }
  for (held_signals held(mask);;) {
    if (held.interrupt()) {
      errno = EINTR;
      return -1;
    }
    std::uint64_t now = 0;
    look_at_clock(now);
    if (timeout != channel::forever && now - begin >= timeout) return 0;
    sleep_for(fds, n, timeout == channel::forever ? timeout : timeout - (now - begin), held.waking());
    if (const int found = look_once(); found != 0) return found;
  }
}

}  // namespace hcasim::preload
