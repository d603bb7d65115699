// A pipelined resource in closed form: a new request every `interval`, an answer `latency` after its start. Requests that
// come while it is busy queue behind it. Costs no kernel event: the next free time is advanced in the call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/base/units.h"

namespace hcasim {

class server {
 public:
  // Occupies the resource for `interval` from `t` or its next free time on; returns the start.
  ps start(ps t, ps interval) {
    const ps begin = std::max(t, free_at_);
    free_at_ = begin + interval;
    busy_ += interval;
    waited_ += begin - t;
    ++served_;
    return begin;
  }
  [[nodiscard]] ps free_at() const { return free_at_; }
  [[nodiscard]] ps busy() const { return busy_; }
  [[nodiscard]] ps waited() const { return waited_; }
  [[nodiscard]] std::uint64_t served() const { return served_; }

 private:
  ps free_at_{0};
  ps busy_{0};
  ps waited_{0};
  std::uint64_t served_ = 0;
};

}  // namespace hcasim
