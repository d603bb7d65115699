// Traffic that goes on whatever breaks: node 0 writes into memory of node 1, reads it back and adds to counters there, every
// byte checked. When a request fails or a device dies, both ends give back all they had, open their devices anew, connect
// again and stream on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"

namespace hcasim::faults {

// on_demand: at both ends, and pages move to other frames all the while. peer: that of node 1 lies in its first peer device.
enum class stream_memory : std::uint8_t { pinned, on_demand, peer };

struct stream_options {
  stream_memory memory = stream_memory::pinned;
  std::uint32_t processes = 1;  // at each end, each with QPs of its own
  std::uint32_t qps = 2;
  std::uint32_t window = 8;
  std::uint64_t size = 2_KiB;
  ps patience = 5_ms;  // without a completion the stream counts as broken
  bool events = true;  // wait for interrupts instead of polling
};

// The report of the stream while it runs, and when it is over.
struct stream_state {
  std::uint64_t done = 0;      // requests with their right bytes
  std::uint64_t failed = 0;    // that ended with another status
  std::uint64_t silent = 0;    // lives in which one did not end at all
  std::uint64_t wrong = 0;     // requests that brought other bytes
  std::uint64_t lives = 0;     // times that it was connected
  std::uint64_t fatal = 0;     // of both ends: contexts that were told of their device's death
  std::uint64_t unclosed = 0;  // contexts that could not be given back
  std::uint64_t lost_nodes = 0;
  std::uint64_t moved = 0;  // pages
  std::uint32_t running = 0;
  bool over = false;
  ps last_progress{0};
  std::vector<ps> begun;  // of each request under way; never: there is none in this place

  // When the oldest request under way was posted.
  [[nodiscard]] ps oldest() const { return begun.empty() ? never : *std::min_element(begun.begin(), begun.end()); }
};

// `more`: asked before each request of the source; false ends the stream. Ends it too: a device that does not come back.
void start_stream(hcasim::system& s, const stream_options& o, const std::function<bool(const stream_state&)>& more,
                  stream_state& out);

}  // namespace hcasim::faults
