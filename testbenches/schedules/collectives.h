// Schedules of collective operations, and their bus bandwidth as nccl-tests defines it. Plain C++.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

// Ring: neighbours pass parts on [Patarasuk, Yuan 2009]. Tree: binomial, towards rank 0 and from it.
enum class collective : std::uint8_t { ring_all_reduce, tree_all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };

struct collective_options {
  std::uint32_t ranks = 8;        // 2 or more
  std::uint64_t bytes = 1 << 20;  // of the whole vector of a rank, as nccl-tests counts it
  std::uint32_t repetitions = 1;  // a rank begins one when its own part of the one before is done
  ps reduce_per_kib{0};           // time to add 1 KiB to another
};

schedule make(collective what, const collective_options& o);

// Returns the share of the bytes that each link must carry at least: bus bandwidth = factor x bytes / time.
double bus_factor(collective what, std::uint32_t ranks);

}  // namespace hcasim::schedules
