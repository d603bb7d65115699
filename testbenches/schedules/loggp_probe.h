// Measures the parameters of LogGP with messages between two ranks: a schedule, and what its times say.
#pragma once

#include <cstdint>

#include "testbenches/schedules/loggp.h"
#include "testbenches/schedules/rank_program.h"
#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

class loggp_probe {
 public:
  // `small` and `large`: sizes of messages that both go eagerly, bytes.
  loggp_probe(std::uint64_t small, std::uint64_t large);

  [[nodiscard]] const schedule& plan() const { return s_; }
  // Returns the parameters, from a run of the plan whose operations' times were kept.
  [[nodiscard]] loggp parameters(const run_result& r) const;

 private:
  // Operations [first, last) of a rank, `step` apart.
  struct series {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t step = 1;
  };

  series ping_pong(std::uint64_t bytes);
  // Lets rank 0 send while rank 1 calculates and then receives one after the other.
  void overheads(std::uint64_t bytes, series& sends, series& receives);
  series stream(std::uint64_t bytes);
  std::uint32_t next(std::uint32_t rank, const operation& o);

  std::uint64_t small_;
  std::uint64_t large_;
  schedule s_;
  std::uint32_t last_[2] = {~0U, ~0U};  // that a rank's next operation follows
  series small_trips_, large_trips_, small_sends_, large_sends_, small_receives_, large_receives_, stream_;
};

}  // namespace hcasim::schedules
