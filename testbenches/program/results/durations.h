// Wall-clock times for people who wait: "0:07", "1:02:30".
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace hcasim {

// Returns whole seconds, rounded up, as minutes or hours.
inline std::string duration_text(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::ceil(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60) : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace hcasim
