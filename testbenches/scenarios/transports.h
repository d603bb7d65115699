// The same messages over every transport: RC, UC and UD, receives from a queue of the QP's own or a shared one; how long until
// the sender's completion and until the receiver's, every byte checked.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

struct transports_options {
  std::uint64_t size = 3000;      // of long messages; a datagram is one packet at most
  std::uint32_t repetitions = 3;  // of each message; the first meets cold caches
  measured_parts parts{};         // one of each service
};

struct transports_row {
  std::string lane;       // RC, RC with SRQ, ...
  std::string operation;  // SEND, WRITE_IMM, ...
  std::uint64_t bytes = 0;
  ps completed{0};  // from the post, of the last repetition
  ps received{0};   // the receiver has its completion; 0 = it gets none
};

struct transports_outcome {
  std::string problem;
  std::vector<transports_row> rows;
  std::uint64_t messages = 0;
  std::uint64_t receives = 0;
};

void start_transports(hcasim::system& s, const transports_options& o, transports_outcome& out);

}  // namespace hcasim::kit
