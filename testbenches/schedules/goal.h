// Reads GOAL schedules, the text of LogGOPSim [Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009]:
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 1000 cpu 0
//   l2: send 4096b to 1 tag 7 cpu 0 nic 0
//   l2 requires l1
//   }
//   rank 1 {
//   recv 4096b from 0 tag 7
//   }
//
// A calculation is in ns. `l2 requires l1`: l2 begins when l1 is done; `irequires`: when l1 has begun. Labels, tags, `cpu` and
// `nic` may be left out (tag, cpu and nic 0). Comments: // and /* */.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

struct goal_limits {
  std::uint32_t ranks = 64;
  std::uint64_t operations = 10'000'000;  // of all ranks; each takes 40 bytes of the host's memory
  std::uint16_t cpus = 64;
};

// Throws schedule_error with file, line, fault and mend. Does not check that the schedule can end.
schedule read_goal(std::istream& in, const std::string& name, const goal_limits& limits = {});

}  // namespace hcasim::schedules
