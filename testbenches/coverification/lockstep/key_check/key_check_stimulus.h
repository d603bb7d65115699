// The items of key_check's streams, and how they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// change: the object of an index is made anew. set_mrc, set_line: its bytes, as a system run had them.
enum class key_item : std::uint8_t { check, element, drain, change, set_mrc, set_line };

// word 0: kind, gap << 8, hold << 24, remote << 48, privileged << 49, aimed << 50
// word 1: key, rights << 32      word 2: pd, qpn << 32      word 3: generation, function << 32      4: va   5: length
// change: word 1: index << 8     word 4: seed of the new object
// set_mrc, set_line: word 0: kind, failed << 48   1: index, entries of the table << 32   2 to 9: the bytes
struct key_fields {
  key_item kind = key_item::check;
  std::uint16_t gap = 0;
  std::uint16_t hold = 0;  // cycles that a granted access keeps its reference
  bool remote = false;
  bool privileged = false;
  bool aimed = false;  // a drain in the very cycle in which an access releases its key, if one holds it
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
