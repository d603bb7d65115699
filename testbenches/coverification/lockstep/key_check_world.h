// The memory behind the caches of the key_check bench: memory region contexts and their extents, made of an index and a seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "firmware/abi/mrc.h"

namespace hcasim::lockstep {

inline constexpr std::uint32_t key_indices = 256;
inline constexpr std::uint32_t lines_per_key = 32;
inline constexpr std::uint32_t key_elements = 64;
// Few values, so that right and wrong ones meet.
inline constexpr std::uint32_t key_pds = 3, key_qpns = 4, key_generations = 3, key_functions = 2;

// Objects have numbers below key_indices; their key indices and their lines of extents lie all over the tables.
inline constexpr std::uint32_t index_of(std::uint32_t number) {
  return number * 0x9e3779U & 0xffffff;
}
inline constexpr std::uint32_t inverse_of(std::uint32_t odd) {
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
// key_indices or more: no object has this index.
inline constexpr std::uint32_t number_of(std::uint32_t index) {
  return index * inverse_of(0x9e3779U) & 0xffffff;
}
static_assert(number_of(index_of(255)) == 255);
// Elements lie in lines that follow each other; of a tree only the root has its place there, below 2^30.
inline constexpr std::uint32_t first_line_of(std::uint32_t number) {
  return number * 0x1e3779b1U & 0x3fffffff;
}
inline constexpr std::uint32_t tree_line_of(std::uint32_t number, std::uint32_t line) {
  return (number * lines_per_key + line) * 0x9e3779b1U;
}
// key_indices * lines_per_key or more: of no object.
inline constexpr std::uint32_t place_of(std::uint32_t tree_line) {
  return tree_line * inverse_of(0x9e3779b1U);
}
static_assert(place_of(tree_line_of(255, 31)) == 255 * lines_per_key + 31);

using line_bytes = std::array<std::byte, 64>;
struct key_object {
  hca_mrc mrc{};
  std::vector<hca_extent> extents;  // of its tree
  std::vector<line_bytes> lines;    // its elements, or its tree: the last one is the root
};
inline bool is_window(const hca_mrc& m) {
  return m.kind == HCA_MRC_WINDOW_1 || m.kind == HCA_MRC_WINDOW_2;
}
hca_element element_at(const key_object& o, std::uint32_t i);
// Same number and seed: same object.
key_object make_object(std::uint32_t number, std::uint64_t seed);
// Lines that belong to no object have content nevertheless.
line_bytes unowned_line(std::uint32_t line);

inline bool mrc_fails(std::uint32_t number) {
  return number % 61 == 7;
}
inline bool line_fails(std::uint32_t line) {
  return line % 97 == 5;
}

}  // namespace hcasim::lockstep
