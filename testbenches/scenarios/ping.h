// One WRITE, one READ and one SEND from node 0 to node 1, alone in the system, each with the way it took.
#pragma once

#include <string>
#include <vector>

#include "testbenches/kit/measured_parts.h"
#include "testbenches/kit/timeline.h"

namespace hcasim::kit {

struct ping_options {
  std::uint64_t size = 64;
  std::uint32_t warm_up = 1;  // of each operation, before the one that counts: 0 shows cold caches
  measured_parts parts{};     // one of each operation
};

struct ping_outcome {
  std::string operation;
  bool ok = false;
  ps total{0};
  std::vector<share> shares;
  std::string trace;
};

void start_ping(hcasim::system& s, const ping_options& o, timeline& t, std::vector<ping_outcome>& outcomes);

}  // namespace hcasim::kit
