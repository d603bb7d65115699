// Requests for the connection manager's file.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

// An eventfd comes with the request. Its count is the number of waiting events, and a read takes one.
struct open_connections {
  static constexpr request_id number = request_id::open_connections;
  using answer = made;
};
struct close_connections {
  static constexpr request_id number = request_id::close_connections;
  using answer = nothing;
  handle file;
};
// `data` of the request: the bytes that the program wrote, then the bytes at the address in SET_OPTION. `data` of the answer:
// the bytes for `address`. EAGAIN = there is no event.
struct manage_connections {
  static constexpr request_id number = request_id::manage_connections;
  struct answer {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  handle file;
  handle other;  // the file of MIGRATE_ID's descriptor
  std::uint32_t written, option;
};

}  // namespace hcasim::channel
