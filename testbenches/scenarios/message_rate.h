// A stream of RDMA WRITEs or READs from node 0 to node 1 over any number of QPs and regions. A window of requests is
// outstanding for each QP or over all.
#pragma once

#include <cstdint>

#include "models/system/system.h"
#include "testbenches/kit/batch_means.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

enum class stream_order : std::uint8_t { in_turn, random };
enum class stream_end : std::uint8_t { messages, steady };

struct stream_options {
  std::uint64_t messages = 200'000;  // measured ones; until steady, at most
  // steady: the measurement ends when the rate is known to `precision` by batch means (testbenches/kit/batch_means.h), and
  // begins when the first messages under way are done.
  stream_end until = stream_end::messages;
  double precision = 0.01;
  std::uint64_t size = 64;
  std::uint32_t window = 16;
  std::uint32_t outstanding = 0;  // on all QPs together, each message on the next QP; 0: `window` on each
  std::uint32_t read_depth = 16;  // READs under way on each QP
  std::uint32_t qps = 1;
  std::uint32_t regions = 1;
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint64_t region_bytes = 4096;  // bytes of each region; at least `size`
  std::uint64_t warm_up = 0;          // messages before the measurement
  // The warm-up goes on until caches and rate are steady, at most 1 000 000 messages and 10 for each page of the target.
  bool warm_until_steady = false;
  // Parts of the measurement, each from an idle machine and after one message more than the part before it. Which messages
  // share a post follows from the start and repeats from then on.
  std::uint32_t starts = 1;
  measured_parts parts{};
  bool read = false;         // RDMA READs instead of WRITEs
  bool send_inline = false;  // the payload travels in the WQE
  std::uint32_t batch = 0;   // WQEs of one post; 0 = as many as the last poll freed
  stream_order order = stream_order::in_turn;
  std::uint64_t page = 0;  // the target's regions lie in scattered pages of this size; 0 = the host's own, 4 KiB
  std::uint64_t seed = 1;  // seed of the random order and of the scatter
};

struct stream_result {
  bool ok = false;
  std::uint64_t completed = 0;  // messages completed in the measurement
  std::uint64_t warm_up = 0;    // messages before it
  bool steady = false;          // the warm-up ended because caches and rate were steady
  ps measured{0};               // from the first post to the last completion, of all parts
  ps waited{0};                 // idle time of the posting thread
  double slowest = 0;           // rate of a part, messages per second
  double fastest = 0;
  batch_means rates{};  // until steady: messages over seconds

  [[nodiscard]] double software_busy() const {
    return 1 - static_cast<double>(waited.count()) / static_cast<double>(measured.count());
  }
  // Returns half the confidence interval of 95 %, as a share of the rate.
  [[nodiscard]] double known_to() const { return rates.half_width() / rates.mean(); }
  [[nodiscard]] double messages_per_second() const { return static_cast<double>(completed) / to_seconds(measured); }
};

// Returns the messages of a step of batch means, and the fewest measured ones that may be enough.
std::uint64_t messages_of_step(const stream_options& o);
inline std::uint64_t fewest_messages(const stream_options& o) {
  return batch_means::first_look * messages_of_step(o);
}

// Starts the programs; the result is filled in by the end of the simulation.
void start_stream(hcasim::system& s, const stream_options& o, stream_result& result);

}  // namespace hcasim::kit
