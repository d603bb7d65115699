#include "models/adapter/key_check/epochs.h"

#include <algorithm>
#include <bit>

namespace hcasim {

epoch_table::epoch_table(std::uint32_t capacity)
    : cells_(std::bit_ceil(std::max(capacity, 2U))),
      mask_(static_cast<std::uint32_t>(cells_.size()) - 1),
      shift_(32 - static_cast<unsigned>(std::bit_width(mask_))) {}

std::uint32_t epoch_table::find(std::uint32_t index) const {
  std::uint32_t at = home(index);
  while (cells_[at].index_plus_1 != 0 && cells_[at].index_plus_1 != index + 1) at = (at + 1) & mask_;
  return at;
}

std::uint64_t epoch_table::take(std::uint32_t index) {
  std::uint32_t at = find(index);
  if (cells_[at].index_plus_1 == 0) {
    if (2 * (used_ + 1) > cells_.size()) {
      grow();
      at = find(index);
    }
    cells_[at] = {index + 1, 0, 0, epoch_};
    ++used_;
  }
  ++cells_[at].current;
  ++references_;
  return cells_[at].epoch;
}

bool epoch_table::give(std::uint32_t index, std::uint64_t epoch) {
  const std::uint32_t at = find(index);
  cell& c = cells_[at];
  --references_;
  const bool was_older = c.epoch != epoch;
  --(was_older ? c.older : c.current);
  const bool last_older = was_older && c.older == 0;
  if (c.current == 0 && c.older == 0) erase(at);
  return last_older;
}

bool epoch_table::renew(std::uint32_t index) {
  ++epoch_;
  const std::uint32_t at = find(index);
  cell& c = cells_[at];
  if (c.index_plus_1 == 0) return false;
  c.older += c.current;
  c.current = 0;
  c.epoch = epoch_;
  return c.older > 0;
}

// Moves later cells of the run back, so that no marks of deleted cells are needed.
void epoch_table::erase(std::uint32_t at) {
  --used_;
  std::uint32_t hole = at;
  for (std::uint32_t next = (hole + 1) & mask_; cells_[next].index_plus_1 != 0; next = (next + 1) & mask_) {
    const std::uint32_t wanted = home(cells_[next].index_plus_1 - 1);
    if (((next - wanted) & mask_) >= ((next - hole) & mask_)) {
      cells_[hole] = cells_[next];
      hole = next;
    }
  }
  cells_[hole] = {};
}

void epoch_table::grow() {
  std::vector<cell> old(cells_.size() * 2);
  old.swap(cells_);
  mask_ = static_cast<std::uint32_t>(cells_.size()) - 1;
  --shift_;
  for (const cell& c : old) {
    if (c.index_plus_1 != 0) cells_[find(c.index_plus_1 - 1)] = c;
  }
}

}  // namespace hcasim
