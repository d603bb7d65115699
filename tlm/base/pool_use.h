// How much of a pool (credits, buffers, slots) is in use: as a resource it is busy for that share of the time. Costs no event;
// what is taken or comes back later may be told in the call.
#pragma once

#include <cstdint>

#include "tlm/base/units.h"

namespace hcasim {

class pool_use {
 public:
  explicit pool_use(std::uint64_t total) : total_(total) {}

  // `n` more of it are in use from `t` on, or fewer.
  void add(std::int64_t n, ps t) {
    used_ += n;
    moment_ += wide{n} * t.count();
  }
  // `n` of `each` come back, one every `interval` from `first` on: in the mean in the middle.
  void come_back(ps first, ps interval, std::uint64_t n, std::uint64_t each) {
    if (n != 0) add(-static_cast<std::int64_t>(n * each), first + interval * static_cast<std::int64_t>(n - 1) / 2);
  }
  // All of it for this long would have been as much.
  [[nodiscard]] ps busy_until(ps t) const {
    return total_ == 0 ? ps(0) : ps(static_cast<std::int64_t>((wide{used_} * t.count() - moment_) / wide{total_}));
  }

 private:
  __extension__ using wide = __int128;

  std::uint64_t total_;
  std::int64_t used_ = 0;
  wide moment_ = 0;  // of each that is in use, or was: when it began, less when it ended
};

}  // namespace hcasim
