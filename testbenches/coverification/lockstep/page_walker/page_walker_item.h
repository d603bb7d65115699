// The items of the page walker's streams.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/translate.h"

namespace hcasim::lockstep {

inline constexpr unsigned page_walker_tags = 32;

// remap: some pages change and are dropped, or an upper entry with all pages below. set_read: sets what a read of memory finds,
// from a system run.
enum class walk_item : std::uint8_t { walk, drop, remap, set_read };

// Puts a map into words 4 to 6 of an item. The words of an item are:
//   0: kind, gap << 8, write << 24, may race with walks << 25 (remap), goes beside others << 26 (mode single), map << 32
//   1: va (drop, remap: first)   2: last   3: length
//   4: index, levels << 32, page shift << 40, null << 48, indirect << 49, on demand << 50   5: table   6: VA of the table
//   7: version, level of the changed entry << 32 (remap)
//   set_read  0: kind, failed << 48   1: address   2 to 9: the bytes
inline void put_map(item& i, const translation& m) {
  i[4] = m.index | std::uint64_t{m.levels} << 32 | std::uint64_t{m.page_shift} << 40 | std::uint64_t{m.null} << 48 |
         std::uint64_t{m.indirect} << 49 | std::uint64_t{m.on_demand} << 50;
  i[5] = m.table;
  i[6] = m.table_va;
}
inline translation map_in_words(const item& i) {
  translation m;
  m.index = static_cast<std::uint32_t>(i[4]);
  m.levels = static_cast<std::uint8_t>(i[4] >> 32);
  m.page_shift = static_cast<std::uint8_t>(i[4] >> 40);
  m.null = i[4] >> 48 & 1;
  m.indirect = i[4] >> 49 & 1;
  m.on_demand = i[4] >> 50 & 1;
  m.table = i[5];
  m.table_va = i[6];
  return m;
}

}  // namespace hcasim::lockstep
