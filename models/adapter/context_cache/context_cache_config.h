// Knobs of a context cache (QPC, CQC, MRC or extent lines).
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"
#include "tlm/base/replacement/policies.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct context_cache_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  std::uint32_t sets = 64;
  std::uint32_t ways = 4;
  replacement_policy policy = replacement_policy::lru;
  double hit_latency = 2;
  double issue_interval = 1;
  std::uint32_t fetches = 16;
  std::uint32_t write_buffers = 4;
  bool write_changes = false;
  bool hit_under_miss = true;
  std::uint32_t second_sets = 0;
  std::uint32_t second_ways = 8;
  double second_latency = 10;
  std::uint64_t seed = 1;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("context_cache"),
           "the SystemC model, the Verilated RTL, or RTL of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.count("sets", sets, 1, 1 << 24,
            "sets; an index belongs to set index modulo sets (a power of two is fastest to simulate)");
    k.count("ways", ways, 1, 4096, "entries per set");
    k.choice("policy", policy, replacement_policies, "which entry of a full set makes room");
    k.cycles("hit_latency", hit_latency, 0, 1000,
             "from request to entry on a hit; a miss begins its DMA that much after the request");
    k.cycles("issue_interval", issue_interval, 0, 1000, "between two look-ups");
    k.count("fetches", fetches, 1, 4096, "entries being fetched from ICM at once; more misses wait in order");
    k.count("write_buffers", write_buffers, 1, 4096, "evicted dirty entries on their way to ICM at once");
    k.flag("write_changes", write_changes,
           "an evicted entry is written from its first changed 64 B line to its last; otherwise the whole entry");
    k.flag("hit_under_miss", hit_under_miss, "look-ups go on while a miss is outstanding; otherwise they wait in order");
    k.count("second_sets", second_sets, 0, 1 << 24, "sets of a second level, which holds entries that made room; 0: none");
    k.count("second_ways", second_ways, 1, 4096, "entries per set of the second level");
    k.cycles("second_latency", second_latency, 0, 1000, "from the end of the look-up to an entry of the second level");
    k.count("seed", seed, 0, 1.8e19, "of the random policy");
  }
};

}  // namespace hcasim
