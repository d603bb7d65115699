#include "models/adapter/context_cache/context_cache_statistics.h"

namespace hcasim {

void context_cache_counters::list(statistics& s, bool second_level) {
  s.add("hits", "1", "fetches answered from the cache at once", hits);
  s.add("misses", "1", "entries read from ICM", misses);
  if (second_level) s.add("second_hits", "1", "entries moved back from the second level", second_hits);
  s.add("merged", "1", "fetches that waited for another one's read of the same entry", merged);
  s.add("evictions", "1", "entries that made room for others", evictions);
  s.add("write_backs", "1", "dirty entries written to ICM", written_back);
  s.add("drops", "1", "entries the command unit had forgotten", dropped);
  s.add("failed", "1", "fetches of an index beyond the area, or whose read failed", failed);
  s.add("write_failures", "1", "write-backs that could not reach ICM; their bytes are lost", write_failures);
  s.add("stalls_no_fetch", "1", "misses that waited for one of the fetches in flight to end", no_fetch);
  s.add("stalls_no_victim", "1", "misses that waited because every entry of the set was held or being fetched", no_victim);
  s.add("stalls_write_back", "1", "fetches that waited for the write-back of the same entry", behind_write);
}

void context_cache_counters::list_levels(statistics& s) {
  s.add("miss_latency", "ps", "from the end of the look-up to the entry", miss_latency);
  s.add("outstanding", "1", "fetches in flight", outstanding);
  s.add("waiting", "1", "requests not answered yet", waiting);
  s.ratio("hit_ratio", "hits over all fetches answered with an entry", {&hits}, {&hits, &merged, &misses, &second_hits});
}

void context_cache_signals::list(probes& p) {
  p.add("valid", 1, valid);
  p.add("index", 32, index);
  p.add("hit", 1, hit);
  p.add("outstanding", 13, outstanding);
  p.add("stalled", 16, stalled);
}

}  // namespace hcasim
