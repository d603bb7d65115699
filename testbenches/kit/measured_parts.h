// Marks the measured parts of a program for its caller (run_context); without one they mark nothing.
#pragma once

#include <functional>
#include <string>

#include "models/machine/host/cpu.h"

namespace hcasim::kit {

struct measured_parts {
  std::function<void(std::string part)> begins;
  std::function<void()> ends;

  // In simulated time, so the software's own time is reached first.
  void begin(cpu& c, std::string part = {}) const {
    c.sync();
    if (begins) begins(std::move(part));
  }
  void end(cpu& c) const {
    c.sync();
    if (ends) ends();
  }
};

}  // namespace hcasim::kit
