// WRITEs to and fro between two nodes, as ib_write_lat measures them. Each side writes as soon as the last byte of the other's
// WRITE is in its memory. The latency is half a round trip.
#pragma once

#include <cstdint>
#include <memory>

#include "models/system/system.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

struct ping_pong_options {
  std::uint64_t size = 2;
  std::uint32_t iterations = 50;
  std::uint32_t warm_up = 10;
  std::uint64_t inline_most = 220;  // WRITEs up to this size carry their payload in the WQE
  std::uint32_t mtu = 2048;
  measured_parts parts{};
};

struct ping_pong_outcome {
  bool ok = false;
  double half_ns = 0;  // half a round trip, mean
};

void start_ping_pong(hcasim::system& s, const ping_pong_options& o, ping_pong_outcome& outcome);

}  // namespace hcasim::kit
