// Places of a VA's entries in a table of 512-entry nodes [E1, E6]. All sums are modulo 2^64. Level 0 is the entry of the page,
// level levels - 1 the one in the root. The root may have more than 512 entries: a queue's buffer is one flat list.
#pragma once

#include <cstdint>

#include "firmware/abi/mrc.h"
#include "tlm/verdict.h"

namespace hcasim::geometry {

inline std::uint64_t page_number(const translation& m, std::uint64_t va) {
  return (va - m.table_va) >> (m.page_shift & 63U);  // of a map that makes no sense too, for the waveform
}

inline std::uint64_t page_offset(const translation& m, std::uint64_t va) {
  return (va - m.table_va) & ((std::uint64_t{1} << m.page_shift) - 1);
}

// Which node of `level` holds the entry for this page, counted over the whole level; 0 for the root.
inline std::uint64_t node_of(const translation& m, std::uint64_t page, unsigned level) {
  return level + 1 >= m.levels ? 0 : page >> (HCA_PTE_BITS * (level + 1));
}

// Its address, given that of the node.
inline std::uint64_t entry_address(const translation& m, std::uint64_t node, std::uint64_t page, unsigned level) {
  std::uint64_t number = page >> (HCA_PTE_BITS * level);
  if (level + 1 < m.levels) number %= HCA_PTE_PER_NODE;
  return node + number * sizeof(hca_pte);
}

// Physical address of a VA in a page whose entry is present.
inline std::uint64_t physical(const translation& m, hca_pte leaf, std::uint64_t va) {
  return (leaf & ~std::uint64_t{0xfff}) + page_offset(m, va);
}

}  // namespace hcasim::geometry
