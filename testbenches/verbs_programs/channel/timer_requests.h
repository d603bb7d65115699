// Timers that are files (timerfd): the simulator counts in an eventfd when one expires.
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
  struct answer {  // as it was before; ps
    std::uint64_t left;
    std::uint64_t interval;
  };
  handle timer;
  std::uint64_t first;     // ps from now; 0 = it stops
  std::uint64_t interval;  // ps
  std::uint32_t changes;   // 0 = it is only asked for
};
struct read_timer {
  static constexpr request_id number = request_id::read_timer;
  struct answer {
    std::uint64_t expired;  // since it was set or read last
  };
  handle timer;
};

}  // namespace hcasim::channel
