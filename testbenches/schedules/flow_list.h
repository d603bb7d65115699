// Reads flow lists of the HPCC family of simulators [Li et al.: HPCC, SIGCOMM 2019]: the number of flows, and one line for
// each:
//
//   2
//   0 1 3 100 40000 2.000001
//   5 1 3 100 1000000 2.000001
//
// A line is source, target, priority, port, bytes, and the start in seconds. Times count from the earliest start.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

struct flow_limits {
  std::uint32_t ranks = 64;
  std::uint64_t flows = 1'000'000;
};

// Makes one message of each flow, with a tag of its own. Throws schedule_error with file, line, fault and mend.
schedule read_flows(std::istream& in, const std::string& name, const flow_limits& limits = {});

}  // namespace hcasim::schedules
