// What the key_check bench has behind its caches: memory region contexts and their extents, made of an index and a seed, and
// the items of its streams.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "firmware/abi/mrc.h"
#include "testbenches/lockstep/lockstep.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

inline constexpr std::uint32_t key_indices = 256;
inline constexpr std::uint32_t lines_per_key = 32;

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
// Same number and seed: same object.
key_object make_object(std::uint32_t number, std::uint64_t seed);
// Where no object has lines of its own there is something nevertheless.
line_bytes line_of_nobody(std::uint32_t line);

inline bool mrc_fails(std::uint32_t number) {
  return number % 61 == 7;
}
inline bool line_fails(std::uint32_t line) {
  return line % 97 == 5;
}

// change: the object of an index is made anew. set_mrc, set_line: its bytes, as a system run had them.
enum class key_item : std::uint8_t { check, element, drain, change, set_mrc, set_line };

// word 0: kind, gap << 8, hold << 24, remote << 48, privileged << 49
// word 1: key, rights << 32      word 2: pd, qpn << 32      word 3: generation, function << 32      4: va   5: length
// change: word 1: index << 8     word 4: seed of the new object
// set_mrc, set_line: word 0: kind, failed << 48   1: index, entries of the table << 32   2 to 9: the bytes
struct key_fields {
  key_item kind = key_item::check;
  std::uint16_t gap = 0;
  std::uint16_t hold = 0;  // cycles that a granted access keeps its reference
  bool remote = false;
  bool privileged = false;
  std::uint32_t key = 0;
  std::uint32_t rights = 0;
  std::uint32_t pd = 0;
  std::uint32_t qpn = 0;
  std::uint32_t generation = 0;
  std::uint16_t function = 0;
  std::uint64_t va = 0;
  std::uint64_t length = 0;
};
item pack(const key_fields& f);
key_fields unpack(const item& i);

item pack_context(key_item kind, std::uint32_t index, bool failed, std::uint32_t entries, const std::byte* bytes);

item_stream generate_keys(const options& o);

}  // namespace hcasim::lockstep
