// Limits of the queues of a QP.
#pragma once

#include <cstdint>

#include "models/driver/verbs/send_ring.h"

namespace hcasim::driver {

inline constexpr std::uint32_t usual_blocks = 2;  // of a request with one segment, on any transport
// Requests that fit into a queue of any transport if each has one segment.
inline constexpr std::uint32_t max_queue_requests = (send_ring::max_blocks - (usual_blocks - 1)) / usual_blocks;

}  // namespace hcasim::driver
