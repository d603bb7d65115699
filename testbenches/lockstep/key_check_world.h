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
inline constexpr std::uint32_t lines_per_key = 16;

// Objects have numbers below key_indices; their key indices and their lines of extents lie all over the tables.
inline constexpr std::uint32_t index_of(std::uint32_t number) {
  return number * 0x9e3779U & 0xffffff;
}
// key_indices or more: no object has this index.
inline constexpr std::uint32_t number_of(std::uint32_t index) {
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - 0x9e3779U * inverse;
  return index * inverse & 0xffffff;
}
static_assert(number_of(index_of(255)) == 255);
inline constexpr std::uint32_t first_line_of(std::uint32_t number) {
  return number * 0x1e3779b1U & 0x3fffffff;
}

struct key_object {
  hca_mrc mrc{};
  bool endless = false;  // its extents are those of extent_at
  std::array<std::array<hca_extent, HCA_EXTENTS_PER_LINE>, lines_per_key> lines{};
};
// Same number and seed: same object.
key_object make_object(std::uint32_t number, std::uint64_t seed);
// Where no object has lines of its own, the table goes on: any part of it is a list in order.
hca_extent extent_at(std::uint64_t place);

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
