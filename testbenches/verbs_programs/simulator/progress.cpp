#include "testbenches/verbs_programs/simulator/progress.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace hcasim::applications {
namespace {

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

progress::progress(ps pause) : pause_(std::chrono::duration_cast<clock::duration>(pause)), next_(begin_ + pause_) {
  if (pause == ps(0)) next_ = clock::time_point::max();
}

void progress::tell(ps simulated, std::uint64_t requests, std::uint64_t unproven_spins, const std::string& who) {
  const clock::time_point now = clock::now();
  constexpr double ps_per_us = 1e6;
  const auto us = [](ps t) { return static_cast<double>(t.count()) / ps_per_us; };
  const std::uint64_t loops = unproven_spins - std::exchange(unproven_spins_, unproven_spins);
  fmt::print(stderr, "hcasim: after {:.1f} s: {:.3f} us simulated, {} requests; in the last {:.1f} s {:.3f} us and {}{}{}{}\n",
             seconds(now - begin_), us(simulated), requests, seconds(now - std::exchange(last_, now)),
             us(simulated - std::exchange(simulated_, simulated)), requests - std::exchange(requests_, requests),
             loops ? fmt::format(", {} loops taken to wait, without a proof", loops) : "", who.empty() ? "" : "; ", who);
  next_ = now + pause_;
}

}  // namespace hcasim::applications
