#include "models/adapter/context_cache/line_cells.h"

#include <bit>

namespace hcasim {

// Holders of a pinned entry have read it before.
bool line_cells::read(std::size_t slot) {
  cache_lines& lines = parts_.lines;
  if (lines.held(slot)) return false;
  if (!keeps_its_tag(slot)) return true;
  if (cells_.read({lines.bytes_of(slot), parts_.icm.bytes()})) return false;
  if (lines.life(slot) == line_life::clean) {
    lines.forget(slot, line_event::forgotten);
  } else {
    lines.on(slot, line_event::spoils);
  }
  return true;
}

// A wrong tag that fits its check renames the entry, if the new index is of the same set and free.
bool line_cells::keeps_its_tag(std::size_t slot) {
  cache_lines& lines = parts_.lines;
  const std::uint32_t index = lines.index_of(slot);
  const int in_set = std::countr_one(lines.set_mask());
  std::uint32_t tag = index >> in_set;
  const bool fits = cells_.read_tag(tag);
  const std::uint32_t found = tag << in_set | (index & lines.set_mask());
  if (fits && found == index) return true;
  const bool can_be = tag >> (32 - in_set - 1) == 0 && found < parts_.icm.count() && lines.set_of(found) == lines.set_of(index);
  const bool free = lines.find(found) == cache_lines::nowhere && !parts_.drops.has(found) && !parts_.writes.of(found);
  if (fits && can_be && free) {
    lines.rename(slot, found);
  } else {
    lost_one_ |= lines.life(slot) == line_life::dirty;
    lines.forget(slot, line_event::loses_its_tag);
  }
  return false;
}

}  // namespace hcasim
