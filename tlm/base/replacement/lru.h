// The least recently used way.
#pragma once

#include "tlm/base/lazy_array.h"
#include "tlm/base/replacement/replacement.h"

namespace hcasim {

class lru_replacement final : public replacement {
 public:
  lru_replacement(std::uint32_t sets, std::uint32_t ways, std::uint64_t) : ways_(ways), last_use_(std::size_t{sets} * ways) {}

  void used(std::uint32_t set, std::uint32_t way) override { last_use_[std::size_t{set} * ways_ + way] = ++clock_; }

  std::uint32_t victim(std::uint32_t set, const std::uint8_t* locked) override {
    const std::uint64_t* last = &last_use_[std::size_t{set} * ways_];
    std::uint32_t best = ways_;
    for (std::uint32_t w = 0; w < ways_; ++w) {
      if (!locked[w] && (best == ways_ || last[w] < last[best])) best = w;
    }
    return best;
  }

 private:
  std::uint32_t ways_;
  std::uint64_t clock_ = 0;
  lazy_array<std::uint64_t> last_use_;
};

}  // namespace hcasim
