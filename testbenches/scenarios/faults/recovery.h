// Breaks the adapters of two nodes again and again under load, in every way that makes a device fail, and looks whether the
// stream goes on each time and nothing is left over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testbenches/scenarios/faults/stream.h"
#include "tlm/base/random.h"

namespace hcasim::faults {

struct recovery_options {
  std::uint32_t failures = 100;
  std::uint64_t between = 60;  // requests that must have succeeded before the next one
  stream_options stream;
};

struct recovery_outcome {
  stream_state stream;
  std::uint32_t broken = 0;
  std::uint32_t streamed_on = 0;
  std::map<std::string, std::uint32_t> ways;  // place and fault
  std::vector<std::string> left;              // what was not given back
  std::string problem;
};

// Knobs without which a failure takes seconds to be noticed.
void watch_closely(system_config& c);
void start_recovery(hcasim::system& s, const recovery_options& o, std::uint64_t seed, recovery_outcome& out);
// When the simulation is over.
void judge_recovery(hcasim::system& s, recovery_outcome& out);

}  // namespace hcasim::faults
