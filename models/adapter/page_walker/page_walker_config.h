// Knobs of the page walker and its translation caches.
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"
#include "tlm/base/replacement/policies.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

enum class pte_line : std::uint8_t { one, two, four, eight };
constexpr std::uint32_t entries_in(pte_line l) {
  return 1U << static_cast<unsigned>(l);
}

struct page_walker_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  std::uint32_t leaf_sets = 256;
  std::uint32_t leaf_ways = 4;
  pte_line line = pte_line::eight;
  std::uint32_t upper_entries = 64;
  std::uint32_t upper_ways = 4;
  replacement_policy policy = replacement_policy::lru;
  std::uint32_t walkers = 4;
  std::uint32_t mshrs = 32;
  bool hit_under_miss = true;
  std::uint32_t second_sets = 0;
  std::uint32_t second_ways = 8;
  double second_latency = 10;
  double hit_latency = 3;
  double issue_interval = 1;
  std::uint64_t seed = 1;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("page_walker"),
           "the SystemC model, the Verilated RTL, or RTL of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.count("leaf_sets", leaf_sets, 1, 1 << 24, "sets of the leaf cache");
    k.count("leaf_ways", leaf_ways, 1, 128, "lines per set of the leaf cache");
    k.choice("line", line, {"1", "2", "4", "8"}, "page-table entries read and cached at once (8: 64 bytes)");
    k.count("upper_entries", upper_entries, 0, 1 << 20, "node addresses cached per upper level; 0: none");
    k.count("upper_ways", upper_ways, 1, 4096, "entries per set of the upper-level caches");
    k.choice("policy", policy, replacement_policies, "which entry of a full set makes room, all caches");
    k.count("walkers", walkers, 1, 1024, "page-table walks in progress at once");
    k.count("mshrs", mshrs, 1, 4096, "different lines missed and not yet there, walkers included; more misses wait in order");
    k.flag("hit_under_miss", hit_under_miss, "lookups go on while a walk is under way; otherwise they wait in order");
    k.count("second_sets", second_sets, 0, 1 << 24, "sets of a second level of the leaf cache; 0: none");
    k.count("second_ways", second_ways, 1, 128, "lines per set of the second level");
    k.cycles("second_latency", second_latency, 0, 1000, "from the end of the look-up to a line of the second level");
    k.cycles("hit_latency", hit_latency, 0, 1000, "from request to answer on a hit; a walk begins that much after the request");
    k.cycles("issue_interval", issue_interval, 0, 1000, "between two look-ups");
    k.count("seed", seed, 0, 1.8e19, "of the random policy");
  }
};

}  // namespace hcasim
