// A pipelined resource: a new request every `interval`. Requests to a busy resource queue, first come, first served. Costs no
// event: the next free time is advanced in the call.
//
// Requests must come in the order of their times, since none may wait for a later one; another order throws std::logic_error. A
// request that cannot use its turn before some time gives `not_before`.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim {

[[noreturn]] void server_out_of_order(ps t, ps before);

class server {
 public:
  // Occupies the resource for `interval` from `t`, `not_before` or its next free time on; returns the start.
  ps start(ps t, ps interval, ps not_before = ps(0)) {
    if (t < asked_) [[unlikely]] {
      server_out_of_order(t, asked_);
    }
    asked_ = t;
    const ps begin = std::max({t, free_at_, not_before});
    free_at_ = begin + interval;
    busy_ += interval;
    waited_ += begin - t;
    ++served_;
    return begin;
  }
  // Counts work of `interval` whose input has streamed in up to `t`; returns its end, later than `t` if the resource is behind.
  ps stream(ps t, ps interval) {
    if (t < asked_) [[unlikely]] {
      server_out_of_order(t, asked_);
    }
    asked_ = t;
    free_at_ = std::max(t, free_at_ + interval);
    busy_ += interval;
    waited_ += free_at_ - t;
    ++served_;
    return free_at_;
  }
  [[nodiscard]] ps free_at() const { return free_at_; }
  [[nodiscard]] ps busy() const { return busy_; }
  // Returns the busy time without work booked for after `t`.
  [[nodiscard]] ps busy_until(ps t) const { return busy_ - std::max(free_at_ - t, ps(0)); }
  [[nodiscard]] ps waited() const { return waited_; }
  [[nodiscard]] std::uint64_t served() const { return served_; }

 private:
  ps asked_{0};
  ps free_at_{0};
  ps busy_{0};
  ps waited_{0};
  std::uint64_t served_ = 0;
};

}  // namespace hcasim
