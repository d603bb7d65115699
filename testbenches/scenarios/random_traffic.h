// Random operations over several QPs between two nodes, every byte checked, whatever the fabric loses, damages, repeats or
// delays.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

struct random_options {
  std::uint64_t operations = 2000;
  std::uint32_t qps = 4;
  std::uint32_t window = 8;
  std::uint64_t max_size = 16_KiB;
  std::uint8_t timeout = 8;  // ACK timer code: 4.096 us * 2^8, so that losses cost little simulated time
  measured_parts parts{};
};

struct random_outcome {
  bool ok = false;
  std::string problem;
  std::array<std::uint64_t, 4> done{};  // WRITE, READ, SEND, FETCH_ADD
  std::uint64_t bytes = 0;
  std::uint64_t received = 0;
};

void start_random(hcasim::system& s, const random_options& o, std::uint64_t seed, random_outcome& out);

}  // namespace hcasim::kit
