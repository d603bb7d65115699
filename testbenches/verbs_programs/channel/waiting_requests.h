// Waits of a thread, and its reports of itself.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

struct clock {
  static constexpr request_id number = request_id::clock;
  using answer = nothing;
};
// `signals`, here and below: bit n - 1 is set if a pending signal n ends the sleep.
struct sleep {
  static constexpr request_id number = request_id::sleep;
  using answer = nothing;
  std::uint64_t time;  // ps
  std::uint64_t signals;
};
// The descriptors lie in the socket that the thread connected with, in the order of `data`: one std::uint32_t of poll bits
// each.
inline constexpr std::uint64_t forever = ~std::uint64_t{0};
inline constexpr std::uint32_t most_descriptors = 64;
struct wait_descriptors {
  static constexpr request_id number = request_id::wait_descriptors;
  struct answer {
    std::uint32_t ready;  // 0 = the time is over
  };
  std::uint32_t count;
  std::uint64_t timeout;  // ps
  std::uint64_t signals;
};
// Waits until another thread of the program or its family has run. `again` = 1: the thread has looked since its last wait and
// found no change, so its run is no news for others that wait. `all` = 1: threads of other programs count, too, from now on.
struct wait_others {
  static constexpr request_id number = request_id::wait_others;
  struct answer {
    std::uint32_t ran;  // 0 = the time is over, or a signal waits
  };
  std::uint64_t timeout;  // ps
  std::uint32_t again;
  std::uint32_t all;
};
// The thread turns in a loop that changes nothing (`proven`), or seems to. A proven loop that reads only `pages` goes on as
// before until one of them changes.
struct spin {
  static constexpr request_id number = request_id::spin;
  using answer = nothing;
  static constexpr std::size_t most_pages = 8;
  std::uint32_t proven;
  std::uint32_t count;  // of pages; 0 = the loop may read any
  std::uint64_t pages[most_pages];
};
struct thread_ends {
  static constexpr request_id number = request_id::thread_ends;
  using answer = nothing;
};
// Processor time in ps of simulated time. A thread uses processor time when it reads clocks, and in each request but sleep.
struct query_usage {
  static constexpr request_id number = request_id::query_usage;
  struct answer {
    std::uint64_t thread;
    std::uint64_t process;
    std::uint64_t children;  // which have ended
    std::uint64_t node;
  };
};
// The program is about to unmap or replace memory.
struct lose_memory {
  static constexpr request_id number = request_id::lose_memory;
  using answer = nothing;
  std::uint64_t address;
  std::uint64_t length;
};
// The program is about to change the rights of memory that is registered on demand.
struct protect_memory {
  static constexpr request_id number = request_id::protect_memory;
  using answer = nothing;
  std::uint64_t address;
  std::uint64_t length;
};

}  // namespace hcasim::channel
