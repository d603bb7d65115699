// The last-level cache of the cores in front of memory, as devices see it: tags only, since the bytes are in memory.
//
// - DMA read: a line that is there is read from the cache. Another one comes from DRAM, and is not put in.
// - DMA write (DDIO): a line that is there is updated in its place. Another one is put into one of the first `llc_ddio_ways`
//   ways of its set.
// - Load or store of a core: a line that is not there is put into any way.
//
// Source: Intel, "Data Direct I/O Technology (DDIO): A Primer", 2012; the ways are those of "inclusive" Xeons.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/knobs.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/replacement/lru.h"
#include "tlm/base/statistics.h"

namespace hcasim {

struct last_level_cache_config {
  std::uint64_t size = 0;
  std::uint32_t ways = 16;
  std::uint32_t ddio_ways = 2;
  ps dram_latency{70_ns};

  void knobs(knob_visitor& k) {
    k.bytes("llc_size", size, 0, 4294967296,
            "last-level cache: a multiple of 64 B times `llc_ways`; 0: no cache, and all accesses cost alike");
    k.count("llc_ways", ways, 1, 64, "lines of a set of the last-level cache");
    k.count("llc_ddio_ways", ddio_ways, 0, 64, "ways of it that DMA writes may take; 0: they put no line in");
    k.time("llc_dram_latency", dram_latency, 0_ps, 1_ms, "more of a DMA read or a load with a line that is not in it");
  }
};

class last_level_cache {
 public:
  // Throws std::invalid_argument: the size is no multiple of 64 B times ways, or more DDIO ways than ways.
  explicit last_level_cache(const last_level_cache_config& config);

  static constexpr std::uint64_t line = 64;

  // Returns whether all lines of [address, address + bytes) were there; so do the next two.
  bool dma_read(std::uint64_t address, std::uint64_t bytes);
  bool dma_write(std::uint64_t address, std::uint64_t bytes);
  bool core(std::uint64_t address, std::uint64_t bytes);

  void list(statistics& s) const;

 private:
  struct use {
    counter hits;
    counter misses;
  };
  template <class OnMiss>
  bool each_line(std::uint64_t address, std::uint64_t bytes, use& of, OnMiss on_miss);
  void put(std::uint32_t set, std::uint64_t tag, const std::vector<std::uint8_t>& locked);

  std::uint32_t ways_;
  std::uint32_t sets_;
  lazy_array<std::uint64_t> tags_;       // line + 1; 0 = empty
  std::vector<std::uint8_t> for_cores_;  // ways that are locked: none
  std::vector<std::uint8_t> for_ddio_;   // all but the first
  bool ddio_;
  lru_replacement policy_;
  use reads_;
  use writes_;
  use cores_;
};

}  // namespace hcasim
