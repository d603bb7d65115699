// Knobs of the adapter's own cache of translations.
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"
#include "tlm/base/replacement/policies.h"

namespace hcasim {

struct atc_config {
  bool enabled = false;
  std::uint32_t entries = 256;
  std::uint32_t ways = 8;
  replacement_policy policy = replacement_policy::lru;
  std::uint32_t requests = 16;
  std::uint32_t page_requests = 32;
  std::uint32_t page_retries = 1000;
  ps page_retry_delay{2_us};
  double hit_latency = 2;
  double issue_interval = 1;
  std::uint64_t seed = 1;

  void knobs(knob_visitor& k) {
    k.flag("enabled", enabled, "the adapter translates for itself (ATS); needs an IOMMU");
    k.count("entries", entries, 1, 1 << 20, "translations that it holds, of pages of any size; a multiple of ways");
    k.count("ways", ways, 1, 1024, "entries per set");
    k.choice("policy", policy, replacement_policies, "which entry of a full set makes room");
    k.count("requests", requests, 1, 4096, "translation requests outstanding at once");
    k.count("page_requests", page_requests, 0, 512, "page requests outstanding at once; 0: it cannot ask for pages");
    k.count("page_retries", page_retries, 0, 1000000,
            "times that a page is asked for again which was granted, but is not there");
    k.time("page_retry_delay", page_retry_delay, 0_ps, 1000_ms, "before each of those");
    k.cycles("hit_latency", hit_latency, 0, 1000, "from a burst's arrival until it goes on, on a hit");
    k.cycles("issue_interval", issue_interval, 0, 1000, "between two look-ups");
    k.count("seed", seed, 0, 1.8e19, "of the random policy");
  }
};

}  // namespace hcasim
