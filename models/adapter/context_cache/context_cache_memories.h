// On-chip memories of a context cache.
#pragma once

#include "models/adapter/context_cache/context_cache_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `entry_bytes`: size of a context. `code_bits`: integrity code of an entry. `log_entries`: log2 of the entries
// of the area.
inline void memories(const context_cache_config& c, std::uint64_t entry_bytes, std::uint64_t code_bits,
                     std::uint64_t log_entries, memory_list& m) {
  const std::uint64_t entries = std::uint64_t{c.sets} * c.ways;
  const std::uint64_t set_bits = bits_for(c.sets);
  const std::uint64_t tag = log_entries > set_bits ? log_entries - set_bits : 0;
  m.add("entries", memory_kind::data, entries, bits_of(entry_bytes) + code_bits, "contexts with their integrity codes");
  add_tags(m, "tags", c.sets, c.ways, tag, "index of the context, without the bits that choose the set");
  const std::uint64_t dirty_lines = c.write_changes ? ceil_div(entry_bytes, std::uint64_t{64}) - 1 : 0;
  m.add("line_state", memory_kind::state, entries, 3 + dirty_lines,
        "empty, being fetched, clean, dirty (each 64 B line with write_changes), and whether it is pinned");
  m.add("replacement", memory_kind::state, c.sets, replacement_bits(c.policy, c.ways), "order of use of a set's ways");
  m.add("fetches", memory_kind::cam, c.fetches, log_entries + bits_for(entries), "misses under way: index and place");
  m.add("write_buffers", memory_kind::data, c.write_buffers, bits_of(entry_bytes) + code_bits, "evicted dirty entries");
  m.add("write_buffer_tags", memory_kind::cam, c.write_buffers, log_entries,
        "their indices, which every miss is compared with");
  if (c.second_sets == 0) return;
  const std::uint64_t second_bits = bits_for(c.second_sets);
  m.add("second_entries", memory_kind::data, std::uint64_t{c.second_sets} * c.second_ways, bits_of(entry_bytes) + code_bits,
        "contexts of the second level with their integrity codes");
  add_tags(m, "second_tags", c.second_sets, c.second_ways, log_entries > second_bits ? log_entries - second_bits : 0,
           "index of the context, without the bits that choose the set");
  m.add("second_replacement", memory_kind::state, c.second_sets, replacement_bits(c.policy, c.second_ways),
        "order of use of a set's ways of the second level");
}

}  // namespace hcasim
