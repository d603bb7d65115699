// On-chip memories of the page walker.
#pragma once

#include "firmware/abi/mrc.h"
#include "models/adapter/page_walker/page_walker_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

// Declares them. `log_keys`: log2 of the protection table's entries. `code_bits`: integrity code of a page-table entry.
// `levels`: of a table.
inline void memories(const page_walker_config& c, std::uint64_t log_keys, std::uint64_t code_bits, std::uint32_t levels,
                     memory_list& m) {
  // An entry is known by its key, the root of its table, and its place in the table.
  const std::uint64_t root = bits_for(HCA_PTE_ADDRESS >> 6);
  const std::uint64_t place = std::uint64_t{levels} * HCA_PTE_BITS;
  const std::uint64_t line_words = entries_in(c.line);
  const std::uint64_t lines = std::uint64_t{c.leaf_sets} * c.leaf_ways;
  const std::uint64_t leaf_tag = log_keys + root + place - bits_for(line_words);
  const std::uint64_t word = bits_of(sizeof(hca_pte)) + code_bits;
  m.add("leaves", memory_kind::data, lines, line_words * word, "lines of leaves of page tables");
  add_tags(m, "leaf_tags", c.leaf_sets, c.leaf_ways, leaf_tag, "key, table and line");
  m.add("leaf_state", memory_kind::state, lines, 1, "whether the line is valid");
  m.add("leaf_replacement", memory_kind::state, c.leaf_sets, replacement_bits(c.policy, c.leaf_ways),
        "order of use of a set's ways");
  const std::uint64_t upper = std::uint64_t{c.upper_entries} * (levels - 1);
  m.add("upper", memory_kind::data, upper, word, "addresses of nodes of the upper levels");
  m.add("upper_tags", c.upper_entries > c.upper_ways ? memory_kind::tag : memory_kind::cam, upper,
        log_keys + root + place - HCA_PTE_BITS, "key, table and node");
  m.add("upper_state", memory_kind::state, upper, 1, "whether the entry is valid");
  m.add("mshrs", memory_kind::cam, c.mshrs, leaf_tag, "lines missed and not yet there, which every miss is compared with");
  m.add("walks", memory_kind::state, c.walkers, word + place + bits_for(c.mshrs),
        "node, rest of the address, and MSHR of a walk");
  if (c.second_sets == 0) return;
  const std::uint64_t second_lines = std::uint64_t{c.second_sets} * c.second_ways;
  m.add("second_leaves", memory_kind::data, second_lines, line_words * word, "lines of the second level");
  add_tags(m, "second_tags", c.second_sets, c.second_ways, leaf_tag, "key, table and line");
  m.add("second_state", memory_kind::state, second_lines, 1, "whether the line is valid");
  m.add("second_replacement", memory_kind::state, c.second_sets, replacement_bits(c.policy, c.second_ways),
        "order of use of a set's ways of the second level");
}

}  // namespace hcasim
