// The share of a pool (credits, buffers, slots) in use: as a resource the pool is busy for this share of the time. Costs no
// event; a use or return in the future may be told in advance.
#pragma once

#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim {

class pool_use {
 public:
  explicit pool_use(std::uint64_t total) : total_(total) {}

  // Counts `n` more (negative: fewer) items in use from `t` on.
  void add(std::int64_t n, ps t) {
    used_ += n;
    moment_ += wide{n} * t.count();
  }
  // Returns `n` times `each` items, one time every `interval` from `first` on; counted in the middle of these times.
  void come_back(ps first, ps interval, std::uint64_t n, std::uint64_t each) {
    if (n != 0) add(-static_cast<std::int64_t>(n * each), first + interval * static_cast<std::int64_t>(n - 1) / 2);
  }
  // Returns how long the whole pool would have been in use, to amount to the same use until `t`.
  [[nodiscard]] ps busy_until(ps t) const {
    return total_ == 0 ? ps(0) : ps(static_cast<std::int64_t>((wide{used_} * t.count() - moment_) / wide{total_}));
  }

 private:
  __extension__ using wide = __int128;

  std::uint64_t total_;
  std::int64_t used_ = 0;
  wide moment_ = 0;  // sum over all uses of begin, less the end of each ended use (ps)
};

}  // namespace hcasim
