// RDMA straight into and out of the memory of a GPU, and from one GPU's into another's, against the same stream bounced through
// host memory by the GPU's copy engine; and the GPU's owner taking memory away under full load.
//
// Node 1 has the GPU, node 0 another one if both ends are asked for. A message is an RDMA WRITE with immediate data; it has
// arrived when the receiving software knows that its bytes are where they belong (bounced: the copy into the GPU has ended).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"

namespace hcasim::kit {

struct path_options {
  std::uint64_t smallest = 4_KiB;  // messages, in steps of four times
  std::uint64_t largest = 4_MiB;
  std::uint64_t bytes = 8_MiB;  // of each stream, at least 16 windows of messages
  std::uint32_t window = 16;    // messages under way at most
  bool both_ends = false;       // from the memory of node 0's GPU as well
};

// PCIe bytes of node 1, headers included, while the stream ran.
struct link_bytes {
  std::uint64_t adapter_up = 0;
  std::uint64_t adapter_down = 0;
  std::uint64_t gpu_up = 0;
  std::uint64_t gpu_down = 0;
};

struct path_outcome {
  bool into = true;       // the GPU of node 1
  bool from_gpu = false;  // of node 0, instead of its memory
  bool bounced = false;
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  std::uint64_t steady = 0;  // of them, those behind the first two windows: the pipe is full from there on
  ps took{0};                // for these
  ps latency{0};             // of a message alone, on the average
  ps cpu{0};                 // software of node 1, for each message of the stream
  link_bytes pcie;
  bool intact = false;

  [[nodiscard]] double goodput() const { return static_cast<double>(size * steady) * 8 / to_seconds(took); }
};

struct paths_result {
  std::string problem;
  bool ok = false;
  std::vector<path_outcome> outcomes;
};

void start_paths(hcasim::system& s, const path_options& o, paths_result& result);

struct taking_options {
  std::uint32_t times = 1000;
  std::uint32_t window = 16;     // requests of each connection
  std::uint64_t size = 4096;     // bytes of each
  std::uint32_t doomed = 2;      // connections that use the memory that goes: WRITEs and READs in turn
  std::uint32_t background = 2;  // connections that use memory that stays
  std::uint64_t region = 256_KiB;
  ps within = 30_us;  // the moment is random in this time after the load has built up
};

struct taking {
  std::uint64_t in_flight;  // accesses that the adapter of node 1 had granted and not finished
  ps latency;               // of the callback
};

struct takings_result {
  std::string problem;
  bool ok = false;
  std::uint64_t late_bytes = 0;  // touched after a callback had returned
  std::string violation;
  std::uint64_t requests = 0;
  std::vector<taking> takings;
};

void start_takings(hcasim::system& s, const taking_options& o, std::uint64_t seed, takings_result& result);

}  // namespace hcasim::kit
