// The file of the connection manager, and what is written to it.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

// With an eventfd that counts one by one, whose count is that of the events that wait.
struct open_connections {
  static constexpr request_id number = request_id::open_connections;
  using answer = made;
};
struct close_connections {
  static constexpr request_id number = request_id::close_connections;
  using answer = nothing;
  handle file;
};
// In `data`: what was written, and behind it what the address in SET_OPTION points to; in the answer: what lies at `address`
// afterwards. EAGAIN: there is no event.
struct manage_connections {
  static constexpr request_id number = request_id::manage_connections;
  struct answer {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  handle file;
  handle other;  // the file that MIGRATE_ID's descriptor is
  std::uint32_t written, option;
};

}  // namespace hcasim::channel
