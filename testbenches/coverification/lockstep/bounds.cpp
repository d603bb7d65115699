#include "testbenches/coverification/lockstep/bounds.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {
namespace {

// One request out of turn delays all requests under way, and new ones meanwhile.
constexpr double out_of_turn = 64;

std::string differ(const report& r) {
  std::ostringstream text;
  text << r.requests - r.exact << " of " << r.requests << " latencies differ, item " << r.worst << " by " << r.max_error
       << " cycles";
  return text.str();
}

// Stalls hold each transfer back by as many cycles, which lets other requests meet.
double cycles_of_stalls(const options& o) {
  const double p = std::min(o.stall, 0.9);
  return p / (1 - p);
}

}  // namespace

bounds bounds_of(const std::string& unit, const options& o) {
  return o.limits ? *o.limits : make_bench(unit)->limits();
}

double late_share(const report& r) {
  double net = 0;
  for (const auto& [error, n] : r.errors) {
    if (error > much) net += static_cast<double>(n);
    if (error < -much) net -= static_cast<double>(n);
  }
  return net / static_cast<double>(std::max<std::uint64_t>(r.requests, 1));
}

std::string out_of_bounds(const report& r, const options& o, const bounds& b) {
  if (!o.model || !o.rtl || r.requests == 0) return {};
  std::ostringstream text;
  const auto n = static_cast<double>(r.requests);
  const double apart = std::abs(r.rtl_cycles - r.model_cycles);
  if (o.how != mode::random) {
    if (b.apart <= 0) return r.exact == r.requests ? std::string() : differ(r);
    if (r.max_error > b.apart) {
      text << differ(r) << ", " << b.apart << " are allowed";
    } else if (o.how == mode::full && apart > b.apart + b.rate * r.model_cycles) {
      text << "the RTL takes " << 100 * r.throughput_error() << " % more cycles, " << 100 * b.rate << " % are allowed";
    }
    return text.str();
  }
  if (o.storms) return {};
  const double stalled = cycles_of_stalls(o);
  if (const double mean = b.mean + 2 * stalled + b.event / n; r.mean_error > mean) {
    text << "latencies differ by " << r.mean_error << " cycles on the average, " << mean << " are allowed; item " << r.worst
         << " by " << r.max_error;
  } else if (const double cycles = b.rate * r.model_cycles + b.event; apart > cycles) {
    text << "the RTL takes " << r.rtl_cycles - r.model_cycles << " more cycles than the " << r.model_cycles << " of the model, "
         << cycles << " are allowed";
  } else if (const double p99 = b.p99 + 30 * stalled; r.p99_error > p99) {
    text << "one latency in a hundred differs by " << r.p99_error << " cycles or more, " << p99 << " are allowed";
  } else if (const double late = b.late + 0.01 * stalled + out_of_turn / n; late_share(r) > late) {
    text << 100 * late_share(r) << " % of the requests are more than " << much
         << " cycles later, minus the share as much earlier; " << 100 * late << " % are allowed";
  }
  return text.str();
}

std::string out_of_bounds(const std::string& unit, const report& r, const options& o) {
  return out_of_bounds(r, o, bounds_of(unit, o));
}

}  // namespace hcasim::lockstep
