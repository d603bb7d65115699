// On-chip memories of the DMA engine.
#pragma once

#include "models/adapter/dma_engine/dma_engine_config.h"
#include "models/adapter/dma_engine/icm_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

inline void memories(const dma_engine_config& c, const icm_config& icm, memory_list& m) {
  const std::uint64_t address = bits_of(sizeof(std::uint64_t));
  const std::uint64_t length = bits_for(c.mrrs + 1);
  m.add("read_tags", memory_kind::state, c.read_tags, address + length, "address and bytes of the read requests outstanding");
  m.add("write_buffer", memory_kind::data, c.write_buffer, bits_of(1), "posted writes on their way");
  m.add("atomic_locks", memory_kind::state, c.atomic_buckets, 1, "locks for atomics");
  m.add("atomic_waiters", memory_kind::state, c.atomic_waiters, address, "address of each atomic that waits for a lock");
  if (icm.map_sets == 0) return;
  constexpr std::uint64_t page = bits_of(sizeof(std::uint64_t)) - 12;
  add_tags(m, "icm_map_tags", icm.map_sets, icm.map_ways, page - bits_for(icm.map_sets),
           "page of ICM, without the bits that choose the set");
  m.add("icm_map", memory_kind::data, std::uint64_t{icm.map_sets} * icm.map_ways, page, "physical pages of ICM");
}

}  // namespace hcasim
