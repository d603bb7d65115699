// Running a testbench to its end, and how fast the host did it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/execution/testbench.h"

namespace hcasim {

class unit;

// Runs the testbench. An exception becomes a failure of the run, apart from input_error, which the user mends.
void run_guarded(testbench& bench, run_context& context);

struct host_speed {
  double wall = 0;
  double simulating = 0;
  std::uint64_t operations = 0;
  std::uint64_t packets = 0;
  std::uint64_t activations = 0;
  std::uint64_t deltas = 0;
  double peak_mib = 0;

  [[nodiscard]] double per_second(std::uint64_t n) const { return simulating > 0 ? static_cast<double>(n) / simulating : 0; }
  [[nodiscard]] nlohmann::ordered_json json() const;
  [[nodiscard]] std::string text() const;
};

host_speed measure_host(const run_context& context, const std::vector<unit*>& units,
                        std::chrono::steady_clock::time_point begin);

}  // namespace hcasim
