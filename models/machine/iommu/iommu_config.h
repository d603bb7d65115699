// Knobs of the IOMMU in a root complex.
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"
#include "tlm/base/replacement/policies.h"

namespace hcasim {

struct iommu_config {
  bool enabled = false;
  std::uint32_t entries = 512;
  std::uint32_t ways = 8;
  replacement_policy policy = replacement_policy::lru;
  std::uint32_t node_entries = 32;
  std::uint32_t walkers = 4;
  ps hit_latency{8_ns};
  ps issue_interval{1_ns};
  ps register_latency{60_ns};
  ps invalidation_timeout{10_ms};
  std::uint64_t seed = 1;

  void knobs(knob_visitor& k) {
    k.flag("enabled", enabled, "devices see IO virtual addresses; the driver maps what they may touch");
    k.count("entries", entries, 1, 1 << 20, "translations that the IOTLB holds, of pages of any size; a multiple of ways");
    k.count("ways", ways, 1, 1024, "entries per set of the IOTLB");
    k.choice("policy", policy, replacement_policies, "which entry of a full set makes room, all caches");
    k.count("node_entries", node_entries, 0, 1 << 16, "table nodes remembered at each of the three upper levels; 0: none");
    k.count("walkers", walkers, 1, 1024, "page-table walks in progress at once");
    k.time("hit_latency", hit_latency, 0_ps, 1_ms, "from a burst's arrival to its physical address, on a hit");
    k.time("issue_interval", issue_interval, 0_ps, 1_ms, "between two look-ups");
    k.time("register_latency", register_latency, 0_ps, 1_ms, "between a core and the registers, each way");
    k.time("invalidation_timeout", invalidation_timeout, 1_us, 60000_ms,
           "a device that takes longer to forget translations is given up");
    k.count("seed", seed, 0, 1.8e19, "of the random policy");
  }
};

}  // namespace hcasim
