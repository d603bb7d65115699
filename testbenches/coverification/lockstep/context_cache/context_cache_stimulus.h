// The entries and the items of the context cache's streams.
#pragma once

#include <array>
#include <cstddef>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// Contexts of queue pairs have 256 bytes, all others 64.
constexpr std::uint32_t item_bytes = 64;        // bytes of an entry in one item
using entry_data = std::array<std::byte, 256>;  // bytes of an entry of either kind

// Entries have numbers below `area`; their indices lie all over the area, in the sets of their numbers.
constexpr std::uint32_t area = 1024;
constexpr std::uint32_t spread = 0x2545f49;
constexpr std::uint32_t index_at(std::uint32_t number) {
  return (number & 63) | (number >> 6) * spread << 6;
}
// Returns the number of an index; `area` or more = there is no such entry.
constexpr std::uint32_t number_at(std::uint32_t index) {
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - spread * inverse;
  return (index & 63) | ((index >> 6) * inverse & 0x3ffffff) << 6;
}
static_assert(number_at(index_at(1023)) == 1023);
constexpr std::uint32_t least_entries = 0xfc000000;  // entries of a large area: a few indices lie beyond it
constexpr bool read_fails(std::uint32_t number) {
  return number % 101 == 13;
}
// Returns the cycles of a memory access in random streams.
constexpr unsigned memory_cycles(std::uint64_t address) {
  const auto h = static_cast<std::uint32_t>((address >> 6) * 0x9e3779b97f4a7c15U >> 48);
  return h % 4 == 0 ? 80 + h % 200 : h % 16 == 1 ? 3 + h % 7 : 30 + h % 20;
}

// Kinds of items:
//   fetch     reads and holds an entry
//   write     changes an entry as its only holder
//   drop      forgets an entry
//   replace   drops an entry, then changes memory
//   set_area  moves to another area
//   put       writes given bytes
//   set_read  sets what a read of memory finds, from a system run
//   update    changes an entry as one of its holders, one at a time
//   more      has bytes after the first 64 of the next put or set_read
//   renew     changes memory and drops the entry during reads and holds of others; after a change of the entry, only drops
enum class context_item : std::uint8_t { fetch, write, drop, replace, set_area, put, set_read, update, more, renew };

// Words of an item:
//   all       0: kind, gap << 8, hold << 24, tries again << 40   1: index   2: value, from which the bytes follow
//   put       2 to 9: the bytes
//   set_area  1: entries   2: value, from which the bytes of all follow   3: base
//   set_read  0: kind, failed << 48   1: address   2 to 9: the bytes
//   more      0: kind, line << 48   2 to 9: the bytes
// `tries_again` marks a request that waits for a write of its entry: the RTL repeats the lookup a cycle later than the model.
inline constexpr std::uint64_t tries_again = std::uint64_t{1} << 40;
inline item make_item(context_item kind, unsigned gap, unsigned hold, std::uint64_t index, std::uint64_t value,
                      std::uint64_t base = 0) {
  item i{};
  i[0] = static_cast<std::uint64_t>(kind) | std::uint64_t{gap} << 8 | std::uint64_t{hold} << 24;
  i[1] = index;
  i[2] = value;
  i[3] = base;
  return i;
}

item_stream generate_contexts(const options& o, std::uint32_t entry_bytes);

}  // namespace hcasim::lockstep
