// Claim 5 of US 7,290,038 [SUN5]: the target writes packets into the host's buffers; when the storage of one has been taken
// away under it the WRITE is aborted, and the packet goes by SEND into a buffer of the host's, which copies it. Beside it what
// it falls back to, all packets by SEND, and what it is without an abort. One packet after the other; every byte is compared.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

enum class fallback_way : std::uint8_t { write, spare, same, send };
inline constexpr const char* fallback_ways[] = {"WRITE, nothing taken away", "SEND over a second connection",
                                                "SEND over the same connection", "SEND always"};

struct fallback_options {
  std::uint32_t messages = 400;  // packets, one after the other
  std::uint64_t size = 8_KiB;
  std::uint32_t every = 20;  // the storage of one packet in so many is taken away
  measured_parts parts{};    // one of each way
};

struct fallback_outcome {
  std::uint64_t written = 0;
  std::uint64_t sent = 0;
  ps took{0};
  ps write_time{0};  // of a packet that is written, mean: from its first post to its bytes where the host wants them
  ps send_time{0};   // of a packet that is sent, likewise
  ps host_cpu{0};    // software of the host for each packet
};

struct fallback_result {
  std::string problem;
  bool ok = false;
  std::vector<fallback_outcome> outcomes;  // of each way
};

void start_fallback(hcasim::system& s, const fallback_options& o, fallback_result& result);

}  // namespace hcasim::kit
