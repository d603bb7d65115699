// The free credits of a lane as a signal. Credits go and come back at times ahead of the kernel, in any order. Each change
// corrects the values that were set for later times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tlm/base/kernel.h"
#include "tlm/base/probe.h"

namespace hcasim {

class credit_signal : public probe {
 public:
  // Sets the credits at the begin of the run.
  void begin(std::uint64_t blocks) { passed_ = static_cast<std::int64_t>(blocks); }
  // Counts `blocks` more (negative: fewer) free credits from `at` on; not before the kernel's time.
  void add(std::int64_t blocks, ps at) {
    if (watched()) [[unlikely]] {
      change(blocks, at);
    }
  }

 private:
  struct step {
    ps at;
    std::int64_t blocks;
  };

  // Credits that a fault has taken are owed: there are none, until more than these have come back.
  void change(std::int64_t blocks, ps at) {
    const auto later = [](ps t, const step& s) { return t < s.at; };
    const auto passed = std::upper_bound(ahead_.begin(), ahead_.end(), now(), later);
    for (auto s = ahead_.begin(); s != passed; ++s) passed_ += s->blocks;
    ahead_.erase(ahead_.begin(), passed);
    ahead_.insert(std::upper_bound(ahead_.begin(), ahead_.end(), at, later), {at, blocks});
    std::int64_t sum = passed_;
    for (const step& s : ahead_) {
      sum += s.blocks;
      if (s.at >= at) set(static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0)), s.at);
    }
  }

  std::int64_t passed_ = 0;  // after all changes that are not ahead
  std::vector<step> ahead_;  // by time
};

}  // namespace hcasim
