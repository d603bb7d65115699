// What the key_check bench has behind its caches: memory region contexts and their extents, made of an index and a seed, and
// the items of its streams.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "firmware/abi/mrc.h"
#include "models/base/random.h"
#include "testbenches/lockstep/lockstep.h"

namespace hcasim::lockstep {

inline constexpr std::uint32_t key_indices = 256;
inline constexpr std::uint32_t lines_per_key = 16;

struct key_object {
  hca_mrc mrc{};
  std::array<std::array<hca_extent, HCA_EXTENTS_PER_LINE>, lines_per_key> lines{};
};
// Same index and seed: same object.
key_object make_object(std::uint32_t index, std::uint64_t seed);

inline bool mrc_fails(std::uint32_t index) {
  return index % 61 == 7;
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
