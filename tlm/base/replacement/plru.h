// Tree pseudo-LRU: one bit a node points away from the half that was used last. Any number of ways; with locked ways the walk
// turns to the other half where the preferred one has none to give.
#pragma once

#include <bit>

#include "tlm/base/lazy_array.h"
#include "tlm/base/replacement/replacement.h"

namespace hcasim {

class plru_replacement final : public replacement {
 public:
  plru_replacement(std::uint32_t sets, std::uint32_t ways, std::uint64_t)
      : ways_(ways), leaves_(std::bit_ceil(ways)), right_(std::size_t{sets} * leaves_) {}

  void used(std::uint32_t set, std::uint32_t way) override {
    std::uint8_t* tree = &right_[std::size_t{set} * leaves_];
    for (std::uint32_t node = leaves_ + way; node > 1; node /= 2) tree[node / 2] = (node & 1) == 0;
  }

  std::uint32_t victim(std::uint32_t set, const std::uint8_t* locked) override {
    const std::uint8_t* tree = &right_[std::size_t{set} * leaves_];
    std::uint32_t first = 0;
    std::uint32_t node = 1;
    for (std::uint32_t half = leaves_ / 2; half > 0; half /= 2) {
      const bool right = tree[node] ? any_free(locked, first + half, half) : !any_free(locked, first, half);
      first += right ? half : 0;
      node = 2 * node + (right ? 1 : 0);
    }
    return first;
  }

 private:
  [[nodiscard]] bool any_free(const std::uint8_t* locked, std::uint32_t first, std::uint32_t count) const {
    for (std::uint32_t w = first; w < first + count && w < ways_; ++w) {
      if (!locked[w]) return true;
    }
    return false;
  }

  std::uint32_t ways_;
  std::uint32_t leaves_;
  lazy_array<std::uint8_t> right_;  // per set: node n (root 1) prefers its right half
};

}  // namespace hcasim
