// Sleeps of a thread in simulated time: for descriptors, for signals, or for a time.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdint>

#include "testbenches/verbs_programs/channel/requests.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/signals.h"

namespace hcasim::preload {

// Repeats a look that a signal has interrupted. The simulator's signal to a suspected spinner interrupts even looks without
// sleep.
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

// Waits until another thread of the program or its family has run, or a handler. `again` = 1: the caller has looked since its
// last call and has changed nothing. `all`: threads of other programs count, too. Returns `again` for the next call.
std::uint32_t wait_for_others(std::uint64_t timeout, std::uint32_t again = 0, bool all = false);

// Follows a call that does not sleep and has found nothing. The first costs nothing; a program that repeats such calls sleeps.
void nothing_there(const pollfd* fds, nfds_t n);

// Sleeps between looks until one finds something or the time is over. `look_once` returns the call's result, 0 = nothing found.
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
