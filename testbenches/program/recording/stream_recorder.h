// Records what passes the boundary of a unit, as a stream that lockstep replays (hcasim run ... --record-stream UNIT=FILE). The
// program registers who can; the runner knows no unit.
#pragma once

#include <memory>
#include <string>

#include "models/system/system_config.h"

namespace hcasim {

class stream_recorder {
 public:
  virtual ~stream_recorder() = default;
  // Writes the file; returns how many items it has. Throws std::runtime_error: there is no such unit, or the file cannot be
  // written.
  virtual std::uint64_t finish() = 0;
};

// Throws std::invalid_argument: streams of `unit` (node0.hca.key_check) cannot be recorded.
using stream_recorder_factory = std::unique_ptr<stream_recorder> (*)(const std::string& unit, const std::string& file,
                                                                     const system_config& config);
stream_recorder_factory& program_stream_recorder();

}  // namespace hcasim
