// 127.x.y that no other test on the machine uses while this one runs.
#pragma once

#include <unistd.h>

#include <string>

#include <fmt/format.h>

namespace hcasim::gateway::testing {

inline std::string own_loopback() {
  const auto n = static_cast<unsigned>(::getpid()) % (62 * 256);
  return fmt::format("127.{}.{}", 192 + n / 256, n % 256);
}

}  // namespace hcasim::gateway::testing
