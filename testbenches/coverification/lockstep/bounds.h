// Bounds on the times of RTL against its model, in cycles of the unit's clock, for any time that the bench's memory takes.
//
// In random streams a request that meets another request, or another entry of a cache, is as often earlier as later. RTL that
// is idle now and then is only later. So the share of much later requests, less the share of much earlier ones, shows such RTL.
#pragma once

#include <cstdint>
#include <string>

namespace hcasim::lockstep {

struct options;
struct report;

inline constexpr std::int64_t much = 16;  // cycles: more than any sum of drifts by one cycle

struct bounds {
  double apart = 0;         // single, full, floods: cycles by which any latency, and the whole stream, may differ
  double mean = 1;          // random: mean error, cycles
  double p99 = 16;          // random: 99th percentile of the error, cycles
  double late = 0.005;      // random: share of requests `much` later, less the share `much` earlier
  double rate = 0.01;       // random: allowed difference of the whole stream, as a share of its cycles
  std::uint64_t wait = 32;  // all but storms: cycles for which work may wait without a reason; 0 = any number
  double event = 500;       // cycles that one request out of turn adds to the errors of a stream of any length
};

// Returns the options' bounds, or else the unit's own.
bounds bounds_of(const std::string& unit, const options& o);
// Returns the figure that is out of bounds, in words; empty = none. Storms have no bounds: a full queue there stalls the RTL
// and not the model.
std::string out_of_bounds(const report& r, const options& o, const bounds& b);
std::string out_of_bounds(const std::string& unit, const report& r, const options& o);
// Returns the share that `bounds::late` limits.
double late_share(const report& r);

}  // namespace hcasim::lockstep
