// Counters and signals of a context cache, for all its parts.
#pragma once

#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

struct context_cache_counters {
  counter hits;
  counter misses;
  counter second_hits;
  counter merged;
  counter evictions;
  counter written_back;
  counter dropped;
  counter failed;
  counter write_failures;
  counter no_fetch;
  counter no_victim;
  counter behind_write;
  histogram miss_latency;
  level outstanding;
  level waiting;

  void list(statistics& s, bool second_level);
  void list_levels(statistics& s);
};

struct context_cache_signals {
  probe valid;
  probe index;
  probe hit;
  probe outstanding;
  probe stalled;

  void list(probes& p);
};

}  // namespace hcasim
