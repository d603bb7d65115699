// The clock that an adapter stamps completions with.
#pragma once

#include <cstdint>

#include "firmware/abi/registers.h"
#include "tlm/base/units.h"

namespace hcasim {

constexpr std::uint64_t adapter_clock(ps t) {
  constexpr std::int64_t tick = 1'000'000'000 / HCA_CLOCK_KHZ;  // ps
  return static_cast<std::uint64_t>(t.count() / tick);
}

}  // namespace hcasim
