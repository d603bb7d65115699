// The memory behind the caches of the key_check bench: memory region contexts and their extents, made from an index and a seed.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "firmware/abi/mrc.h"

namespace hcasim::lockstep {

inline constexpr std::uint32_t key_indices = 256;  // number of drawn objects
inline constexpr std::uint32_t lines_per_key = 32;
inline constexpr std::uint32_t key_elements = 64;
// Few values, so that right and wrong values meet.
inline constexpr std::uint32_t key_pds = 3, key_qpns = 4, key_generations = 3, key_functions = 2;

// Objects have numbers. Their key indices and lines of extents lie all over the tables. Objects from key_indices on are twins
// (key_check_twins.h). The first twins have indices of one bit, or of two bits twelve apart.
inline constexpr std::uint32_t index_bits = 24;
inline constexpr std::uint32_t index_twins = index_bits + index_bits / 2;
inline constexpr std::uint32_t index_of(std::uint32_t number) {
  const std::uint32_t twin = number - key_indices;
  return twin < index_bits ? 1U << twin : twin < index_twins ? 0x1001U << (twin - index_bits) : number * 0x9e3779U & 0xffffff;
}
inline constexpr std::uint32_t inverse_of(std::uint32_t odd) {
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
// Returns the number of an object by its index; without an object, a number that no object has.
inline constexpr std::uint32_t number_of(std::uint32_t index) {
  const auto bit = static_cast<std::uint32_t>(std::countr_zero(index));
  if (std::has_single_bit(index)) return key_indices + bit;
  if (std::popcount(index) == 2 && index == 0x1001U << bit) return key_indices + index_bits + bit;
  const std::uint32_t number = index * inverse_of(0x9e3779U) & 0xffffff;
  return number - key_indices < index_twins ? ~0U : number;
}
static_assert(number_of(index_of(255)) == 255 && number_of(index_of(1000)) == 1000);
static_assert(number_of(index_of(key_indices + 23)) == key_indices + 23 &&
              number_of(index_of(key_indices + 30)) == key_indices + 30);
// Elements lie in consecutive lines, below 2^30. A tree has only its root there.
inline constexpr std::uint32_t first_line_of(std::uint32_t number) {
  return number * 0x1e3779b1U & 0x3fffffff;
}
inline constexpr std::uint32_t tree_line_of(std::uint32_t number, std::uint32_t line) {
  return (number * lines_per_key + line) * 0x9e3779b1U;
}
// Returns the number of an object's line, counted over all objects; above all objects' lines = the line belongs to none.
inline constexpr std::uint32_t place_of(std::uint32_t tree_line) {
  return tree_line * inverse_of(0x9e3779b1U);
}
static_assert(place_of(tree_line_of(255, 31)) == 255 * lines_per_key + 31);

using line_bytes = std::array<std::byte, 64>;
struct key_object {
  hca_mrc mrc{};
  std::vector<hca_extent> extents;  // of its tree
  std::vector<line_bytes> lines;    // its elements, or its tree with the root last
};
inline bool is_window(const hca_mrc& m) {
  return m.kind == HCA_MRC_WINDOW_1 || m.kind == HCA_MRC_WINDOW_2;
}
hca_element element_at(const key_object& o, std::uint32_t i);
// Makes an object from its number and seed alone.
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
