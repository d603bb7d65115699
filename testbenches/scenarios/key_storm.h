// Windows opened and closed by the thousand in each millisecond, on keys that remote WRITEs are using: type 1 by bind and
// unbind, type 2 by bind and LOCAL_INV on the connection that the WRITEs come in on. Every WRITE is judged by the times between
// which its key was good, and what lies under a closed window is looked at again before the next bind: not one byte may have
// changed [O7].
//
// A WRITE under a dead key breaks its connection. Changes that are flushed then may have been executed or not: their window is
// freed and allocated anew.
#pragma once

#include <cstdint>
#include <string>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

struct storm_options {
  int type = 1;                    // of the windows
  std::uint64_t changes = 20'000;  // opened and closed
  std::uint32_t windows = 64;
  std::uint32_t lanes = 8;   // connections of the writer, one WRITE outstanding on each
  std::uint32_t depth = 16;  // binds outstanding
  measured_parts parts{};
};

struct storm_outcome {
  bool ok = false;
  std::string problem;
  std::uint64_t binds = 0;
  std::uint64_t unbinds = 0;  // type 2: invalidates
  std::uint64_t flushed = 0;  // changes that a broken connection left undecided
  std::uint64_t granted = 0;
  std::uint64_t denied = 0;
  std::uint64_t wrongly_granted = 0;  // the key was dead before the WRITE was posted, or not yet born when it completed
  std::uint64_t wrongly_denied = 0;   // the key was good all the while
  std::uint64_t late_bytes = 0;       // changed under a closed window
  ps first{0};
  ps last{0};

  [[nodiscard]] double changes_per_ms() const {
    return static_cast<double>(binds + unbinds) / (to_seconds(last - first) * 1e3);
  }
};

// Node 0 writes, node 1 owns the memory.
void start_storm(hcasim::system& s, const storm_options& o, std::uint64_t seed, storm_outcome& out);

}  // namespace hcasim::kit
