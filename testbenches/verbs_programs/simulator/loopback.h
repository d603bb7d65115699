// The machine's loopback: bytes that a program has sent and the kernel has not delivered yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "testbenches/verbs_programs/simulator/descriptor.h"

namespace hcasim::applications {

// Returns the packets that wait in the kernel's queues of all processors, from the text of /proc/net/softnet_stat. None = the
// kernel does not tell (before Linux 5.10), or this is no such text.
[[nodiscard]] std::optional<std::uint64_t> packets_waiting(std::string_view softnet_stat);

// A send over the loopback usually delivers before the send returns. A busy kernel puts the work off to a thread of its own
// (ksoftirqd), which waits for a processor like any other.
class loopback {
 public:
  loopback();

  // Waits in wall-clock time until no packet waits. False = packets still wait after `patience`, or the kernel does not tell.
  bool drain(std::chrono::milliseconds patience) const;

 private:
  descriptor softnet_stat_;
};

}  // namespace hcasim::applications
