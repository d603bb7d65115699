// How far a thread that only reads the clock may run ahead of the kernel.
#pragma once

#include <algorithm>

#include "tlm/base/units.h"

namespace hcasim::applications {

// Returns how far a thread may run ahead. Nothing reaches a program of one thread without a connected queue, so its horizon has
// no limit. Otherwise the horizon is the next event, or an eighth of the time for which the thread has only read the clock.
// Programs calibrate by reading the clock for a fifth of a second.
constexpr ps horizon_of(bool reachable, ps until_next_event, ps only_looking) {
  constexpr ps unlimited{1'000'000'000'000'000};
  constexpr ps least{2'000'000};
  constexpr ps most{10'000'000'000};
  constexpr int share = 8;
  return reachable ? std::min(std::max({least, until_next_event, only_looking / share}), most) : unlimited;
}

}  // namespace hcasim::applications
