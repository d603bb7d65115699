// Addresses of tests, and who listens there.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "testbenches/program/testing/run_program.h"

namespace hcasim::gateway::testing {

// 127.x.y that no other test on the machine uses while this one runs.
inline std::string own_loopback() {
  const auto n = static_cast<unsigned>(::getpid()) % (62 * 256);
  return fmt::format("127.{}.{}", 192 + n / 256, n % 256);
}

// Returns whether a socket listens for TCP there, within `most`.
inline bool listens(const std::string& ip, unsigned port, std::chrono::seconds most) {
  unsigned a[4] = {};
  if (std::sscanf(ip.c_str(), "%u.%u.%u.%u", &a[0], &a[1], &a[2], &a[3]) != 4) return false;
  const std::string line = fmt::format(": {:02X}{:02X}{:02X}{:02X}:{:04X} 00000000:0000 0A", a[3], a[2], a[1], a[0], port);
  for (const auto end = std::chrono::steady_clock::now() + most; std::chrono::steady_clock::now() < end;) {
    if (file_content("/proc/net/tcp").find(line) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace hcasim::gateway::testing
