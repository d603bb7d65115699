// The items of the context cache's streams.
#pragma once

#include <cstring>

#include "testbenches/lockstep/lockstep.h"

namespace hcasim::lockstep {

// fetch: read and held. write: the only holder changes it. drop: forgotten. replace: dropped, then changed in memory.
// set_area: another area, or the same again. put: a write whose bytes are given. set_read: what a read of memory finds, as a
// system run had it.
enum class context_item : std::uint8_t { fetch, write, drop, replace, set_area, put, set_read };

// word 0: kind, gap << 8, hold << 24   1: index   2: value, from which its bytes follow   put: 2 to 9: the bytes
// set_area: 1: entries   2: value; its lowest bit: which half of the bytes   3: base
// set_read: word 0: kind, failed << 48   1: address   2 to 9: the bytes
inline item make_item(context_item kind, unsigned gap, unsigned hold, std::uint64_t index, std::uint64_t value,
                      std::uint64_t base = 0) {
  item i{};
  i[0] = static_cast<std::uint64_t>(kind) | std::uint64_t{gap} << 8 | std::uint64_t{hold} << 24;
  i[1] = index;
  i[2] = value;
  i[3] = base;
  return i;
}

}  // namespace hcasim::lockstep
