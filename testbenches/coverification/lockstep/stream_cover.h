// Functional coverage of a unit's streams: requests, answers, and their meetings.
#pragma once

#include <memory>
#include <string>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

class stream_cover {
 public:
  virtual ~stream_cover() = default;
  // Samples an item and the answer of the RTL.
  virtual void sample(const item& i, const comparison::answer& a) = 0;
  // Appends the bins, and the points that the bench has counted, to a coverage file.
  virtual void append_to(const std::string& file, const coverage& counted) const = 0;
};

std::unique_ptr<stream_cover> make_stream_cover(const std::string& unit);

}  // namespace hcasim::lockstep
