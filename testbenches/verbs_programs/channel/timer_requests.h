// Timer files (timerfd): the simulator counts in an eventfd when a timer expires.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

// Opens a timer with an eventfd, which can be read while the timer has expired and was not read.
struct open_timer {
  static constexpr request_id number = request_id::open_timer;
  using answer = made;
};
struct close_timer {
  static constexpr request_id number = request_id::close_timer;
  using answer = nothing;
  handle timer;
};
struct set_timer {
  static constexpr request_id number = request_id::set_timer;
  struct answer {  // the timer before; ps
    std::uint64_t left;
    std::uint64_t interval;
  };
  handle timer;
  std::uint64_t first;     // ps from now; 0 = the timer stops
  std::uint64_t interval;  // ps
  std::uint32_t changes;   // 0 = the timer is only queried
};
struct read_timer {
  static constexpr request_id number = request_id::read_timer;
  struct answer {
    std::uint64_t expired;  // expiries since the last set or read
  };
  handle timer;
};

}  // namespace hcasim::channel
