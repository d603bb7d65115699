// The way that was used last: of what comes round in turn, more than there are ways, most is met again.
#pragma once

#include "tlm/base/lazy_array.h"
#include "tlm/base/replacement/replacement.h"

namespace hcasim {

class mru_replacement final : public replacement {
 public:
  mru_replacement(std::uint32_t sets, std::uint32_t, std::uint64_t) : last_(sets) {}

  void used(std::uint32_t set, std::uint32_t way) override { last_[set] = way; }

  std::uint32_t victim(std::uint32_t set, const std::uint8_t* locked) override {
    if (!locked[last_[set]]) return last_[set];
    std::uint32_t way = 0;
    while (locked[way]) ++way;
    return way;
  }

 private:
  lazy_array<std::uint32_t> last_;
};

}  // namespace hcasim
