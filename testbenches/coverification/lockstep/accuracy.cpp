#include "testbenches/coverification/lockstep/accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

estimate estimate_of(const std::vector<double>& samples) {
  const auto n = static_cast<double>(samples.size());
  if (samples.empty()) return {};
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  if (samples.size() == 1) return {mean, 0};
  double squares = 0;
  for (const double s : samples) squares += (s - mean) * (s - mean);
  // Student's t, 97.5 %, of 1 to 10 degrees of freedom; more: as of the normal distribution, a little wider.
  constexpr std::array t{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  const double width = samples.size() - 2 < t.size() ? t[samples.size() - 2] : 2.2;
  return {mean, width * std::sqrt(squares / (n - 1) / n)};
}

std::string name_of(const stall_condition& w) {
  if (w.storms) return "storms";
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", w.stall);
  return text;
}

accuracy measure_accuracy(const std::string& unit, const stall_condition& under, std::uint64_t seeds, std::uint64_t requests) {
  accuracy a{unit, under, 0, {}, 0, 0, {}, {}};
  std::vector<double> errors;
  std::vector<double> throughputs;
  const auto run_it = [&](const options& o) {
    report r = run_isolated(unit, make_bench(unit)->generate(o), o);
    if (a.problem.empty()) a.problem = r.problem;
    return r;
  };
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    options o;
    o.requests = requests;
    o.seed = seed;
    o.stall = under.stall;
    o.storms = under.storms;
    const report r = run_it(o);
    errors.push_back(r.mean_error);
    throughputs.push_back(100 * r.throughput_error());
    a.p99 = std::max(a.p99, r.p99_error);
    a.largest = std::max(a.largest, r.max_error);
  }
  options full;
  full.how = mode::full;
  full.requests = requests;
  a.own = run_it(full).mean_latency;
  a.error = estimate_of(errors);
  a.throughput = estimate_of(throughputs);
  return a;
}

std::string row_of(const accuracy& a) {
  char row[256];
  std::snprintf(row, sizeof row, "| `%s` | %s | %.1f | %.3f ± %.3f | %.1f %% | %.0f | %.0f | %+.2f ± %.2f %% |", a.unit.c_str(),
                name_of(a.under).c_str(), a.own, a.error.mean, a.error.half, a.own > 0 ? 100 * a.error.mean / a.own : 0, a.p99,
                a.largest, a.throughput.mean, a.throughput.half);
  return row;
}

}  // namespace hcasim::lockstep
