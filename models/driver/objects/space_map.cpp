#include "models/driver/objects/space_map.h"

#include <algorithm>

namespace hcasim::driver {

void space_map::add(const piece& p) {
  const auto at =
      std::upper_bound(pieces_.begin(), pieces_.end(), p.va, [](std::uint64_t va, const piece& q) { return va < q.va; });
  pieces_.insert(at, p);
}

std::vector<space_map::range> space_map::remove(std::uint64_t va, std::uint64_t length) {
  std::vector<range> removed;
  std::vector<piece> kept;
  for (const piece& p : pieces_) {
    const std::uint64_t from = std::max(p.va, va);
    const std::uint64_t to = std::min(p.va + p.length, va + length);
    if (from >= to) {
      kept.push_back(p);
      continue;
    }
    removed.push_back({p.host + (from - p.va), to - from, p.dma + (from - p.va), p.physical});
    if (p.va < from) kept.push_back({p.va, from - p.va, p.host, p.handle, p.dma, p.physical});
    if (to < p.va + p.length)
      kept.push_back({to, p.va + p.length - to, p.host + (to - p.va), p.handle, p.dma + (to - p.va), p.physical});
  }
  pieces_ = std::move(kept);
  return removed;
}

std::vector<space_map::range> space_map::remove(std::uint32_t handle) {
  std::vector<range> removed;
  std::erase_if(pieces_, [&](const piece& p) {
    if (p.handle != handle) return false;
    removed.push_back({p.host, p.length, p.dma, p.physical});
    return true;
  });
  return removed;
}

std::vector<space_map::range> space_map::remove_all() {
  std::vector<range> removed;
  removed.reserve(pieces_.size());
  for (const piece& p : pieces_) removed.push_back({p.host, p.length, p.dma, p.physical});
  pieces_.clear();
  return removed;
}

void space_map::shift(std::uint64_t by) {
  for (piece& p : pieces_) p.va += by;
}

}  // namespace hcasim::driver
