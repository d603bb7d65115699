// A stream of RDMA WRITEs from node 0 to node 1 over any number of QPs and regions, a window of them outstanding per QP.
#pragma once

#include <cstdint>
#include <functional>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"

namespace hcasim::kit {

struct stream_options {
  std::uint64_t messages = 200'000;
  std::uint64_t size = 64;
  std::uint32_t window = 16;
  std::uint32_t qps = 1;
  std::uint32_t regions = 1;
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint64_t region_bytes = 4096;  // of each region; at least `size`
  std::uint64_t warm_up = 0;          // messages before the measurement
  std::function<void()> measuring{};  // called when the measurement begins, and when it ends
};

struct stream_result {
  bool ok = false;
  std::uint64_t completed = 0;
  ps first_post{0};  // the measurement begins
  ps last_completion{0};

  [[nodiscard]] double messages_per_second() const {
    return static_cast<double>(completed) / to_seconds(last_completion - first_post);
  }
};

// Starts the programs; the result is filled in by the end of the simulation.
void start_stream(hcasim::system& s, const stream_options& o, stream_result& result);

}  // namespace hcasim::kit
