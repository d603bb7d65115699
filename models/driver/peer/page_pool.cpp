#include "models/driver/peer/page_pool.h"

#include <algorithm>

#include "tlm/base/units.h"

namespace hcasim::driver::peer {

page_pool::page_pool(std::uint64_t bytes, std::uint64_t page) : page_(page), free_bytes_(bytes) {
  if (bytes != 0) free_.emplace(0, bytes);
}

std::vector<page_pool::run> page_pool::take(std::uint64_t bytes, placement how) {
  std::vector<run> taken;
  std::uint64_t left = align_up(bytes, page_);
  if (left == 0 || left > free_bytes_) return taken;
  free_bytes_ -= left;
  if (how == placement::contiguous) {
    const auto whole = std::find_if(free_.begin(), free_.end(), [left](const auto& f) { return f.second >= left; });
    for (auto it = whole == free_.end() ? free_.begin() : whole; left != 0;) {
      const auto [offset, size] = *it;
      const std::uint64_t n = std::min(left, size);
      taken.push_back({offset, n});
      it = free_.erase(it);
      if (n < size) it = free_.emplace_hint(it, offset + n, size - n);
      left -= n;
    }
    return taken;
  }
  for (bool front = true; left != 0; front = !front, left -= page_) {
    const auto it = front ? free_.begin() : std::prev(free_.end());
    const auto [offset, size] = *it;
    free_.erase(it);
    taken.push_back({front ? offset : offset + size - page_, page_});
    if (size > page_) free_.emplace(front ? offset + page_ : offset, size - page_);
  }
  return taken;
}

void page_pool::give(const std::vector<run>& runs) {
  for (const run& r : runs) give(r);
}

void page_pool::give(run r) {
  free_bytes_ += r.bytes;
  auto next = free_.lower_bound(r.offset);
  if (next != free_.end() && r.offset + r.bytes == next->first) {
    r.bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == r.offset) {
      before->second += r.bytes;
      return;
    }
  }
  free_.emplace_hint(next, r.offset, r.bytes);
}

}  // namespace hcasim::driver::peer
