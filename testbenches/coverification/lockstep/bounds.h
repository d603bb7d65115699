// How far RTL may be from its model in time: in cycles of the unit's clock, whatever the memory of the bench takes.
//
// In random streams a request that meets another one, or another entry of a cache, is as often earlier as later. RTL that now
// and then does nothing is later only: the share of those that are much later, less those that are as much earlier, shows it.
#pragma once

#include <cstdint>
#include <string>

namespace hcasim::lockstep {

struct options;
struct report;

inline constexpr std::int64_t much = 16;  // cycles: more than single cycles of drift add up to

struct bounds {
  double apart = 0;         // single, full, floods: cycles that any latency may differ, and the whole stream
  double mean = 1;          // random: mean error, cycles
  double p99 = 16;          // random: 99th percentile of the error, cycles
  double late = 0.005;      // random: share of the requests that are `much` later, less the share of those as much earlier
  double rate = 0.01;       // random: share of the cycles of the whole stream that these may differ
  std::uint64_t wait = 32;  // all but storms: cycles that work may wait without a reason; 0 = any number
  double event = 500;       // cycles that one request out of turn adds to the errors of a stream, however short that is
};

// Returns what the unit itself holds, unless the options have bounds of their own.
bounds bounds_of(const std::string& unit, const options& o);
// Returns the figure that is out of bounds, in words; empty = none. Storms have none: what is full there stalls the RTL and not
// the model.
std::string out_of_bounds(const report& r, const options& o, const bounds& b);
std::string out_of_bounds(const std::string& unit, const report& r, const options& o);
// Returns the share that `bounds::late` limits.
double late_share(const report& r);

}  // namespace hcasim::lockstep
