// Knobs of ICM.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/icm_code.h"

namespace hcasim {

struct icm_config {
  icm_check check = icm_check::none;
  double check_latency = 2;
  std::uint32_t map_sets = 0;
  std::uint32_t map_ways = 4;

  void knobs(knob_visitor& k) {
    k.choice("check", check, {"none", "parity", "secded"},
             "integrity code of the words of contexts and tables, in ICM and in caches");
    k.cycles("check_latency", check_latency, 0, 1000, "with a code, from the last byte of an entry to its verdict");
    k.count("map_sets", map_sets, 0, 65536,
            "sets of the cache of the ICM map, an entry a 4 KiB page; 0: ICM is physically contiguous, without a map");
    k.count("map_ways", map_ways, 1, 64, "ways of a set of that cache");
  }
};

}  // namespace hcasim
