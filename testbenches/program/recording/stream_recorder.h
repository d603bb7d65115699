// Records what passes the boundary of a unit, as a stream that lockstep replays (hcasim run ... --record-stream UNIT=FILE).
#pragma once

#include <cstdint>

namespace hcasim {

class stream_recorder {
 public:
  virtual ~stream_recorder() = default;
  // Writes the file; returns how many items it has. Throws std::runtime_error: there is no such unit, or the file cannot be
  // written.
  virtual std::uint64_t finish() = 0;
};

}  // namespace hcasim
