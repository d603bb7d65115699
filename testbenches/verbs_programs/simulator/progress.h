// Reports the progress of a long run on standard error, so that a user can tell a slow run from a hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tlm/base/units.h"

namespace hcasim::applications {

class progress {
 public:
  // Reports after each `pause` of the wall clock; 0 = never.
  explicit progress(ps pause);

  [[nodiscard]] bool is_due() const { return clock::now() >= next_; }
  // Reports the run so far: simulated time, requests, and loops without a proof. `who`: what threads do now.
  void tell(ps simulated, std::uint64_t requests, std::uint64_t unproven_spins, const std::string& who);

 private:
  using clock = std::chrono::steady_clock;

  clock::duration pause_;
  clock::time_point begin_ = clock::now();
  clock::time_point next_;
  clock::time_point last_ = begin_;
  ps simulated_{0};
  std::uint64_t requests_ = 0;
  std::uint64_t unproven_spins_ = 0;
};

}  // namespace hcasim::applications
