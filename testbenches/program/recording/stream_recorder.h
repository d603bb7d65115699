// Records the transfers at a unit's boundary, as a stream for lockstep (hcasim run ... --record-stream UNIT=FILE).
#pragma once

#include <cstdint>

namespace hcasim {

class stream_recorder {
 public:
  virtual ~stream_recorder() = default;
  // Writes the file; returns the number of items. Throws std::runtime_error: there is no such unit, or the write fails.
  virtual std::uint64_t finish() = 0;
};

}  // namespace hcasim
