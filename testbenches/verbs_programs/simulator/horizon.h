// How far a thread may look ahead of the kernel by itself.
#pragma once

#include <algorithm>

#include "tlm/base/units.h"

namespace hcasim::applications {

// Until a queue of its process is connected nothing can reach it; afterwards as far as nothing happens, and further the longer
// it does nothing but look at the clock: programs calibrate by looking for a fifth of a second.
constexpr ps horizon_of(bool connected, ps until_next_event, ps only_looking) {
  constexpr ps unlimited{1'000'000'000'000'000};
  constexpr ps least{2'000'000};
  constexpr ps most{10'000'000'000};
  constexpr int share = 8;
  return connected ? std::min(std::max({least, until_next_event, only_looking / share}), most) : unlimited;
}

}  // namespace hcasim::applications
