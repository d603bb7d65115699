// Told of every write into a UAR page, when it reaches the unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim {

class bar_monitor {
 public:
  virtual ~bar_monitor() = default;
  // `address` in the UAR pages.
  virtual void uar_written(std::uint64_t address, const std::byte* data, std::uint64_t bytes, ps t) = 0;
};

}  // namespace hcasim
