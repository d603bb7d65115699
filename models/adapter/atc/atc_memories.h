// On-chip memories of the address translation cache.
#pragma once

#include "firmware/abi/iommu.h"
#include "models/adapter/atc/atc_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

inline void memories(const atc_config& c, memory_list& m) {
  if (!c.enabled) return;
  const std::uint64_t page = bits_for(IOMMU_PTE_ADDRESS >> 12);
  const std::uint64_t sets = c.entries / c.ways;
  m.add("translations", memory_kind::data, c.entries, page + 2, "physical page, and the rights to read and write");
  add_tags(m, "tags", sets, c.ways, page - bits_for(sets), "page, without the bits that choose the set");
  m.add("line_state", memory_kind::state, c.entries, 1, "whether the entry is valid");
  m.add("replacement", memory_kind::state, sets, replacement_bits(c.policy, c.ways), "order of use of a set's ways");
  m.add("requests", memory_kind::cam, c.requests, page, "pages asked for, which every miss is compared with");
}

}  // namespace hcasim
