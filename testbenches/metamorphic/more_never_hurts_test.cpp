// More of any resource never makes a run slower, nor does less of any time that a unit takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "testbenches/metamorphic/sweep.h"
#include "testbenches/metamorphic/workloads.h"

namespace hcasim::metamorphic {
namespace {

constexpr double tolerance = 0.01;

class more_never_hurts : public ::testing::TestWithParam<workload> {};

std::string line_of(const knob_sweep& s, const std::vector<outcome>& outcomes, std::size_t first) {
  std::string text = s.knob;
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const outcome& o = outcomes[first + i];
    const std::string came = !o.refused.empty() ? "refused" : o.ran() ? fmt::format("{:.4f}", o.rate / 1e6) : o.problem;
    text += fmt::format("{} {}: {}", i ? "," : ":", s.values[i], came);
  }
  return text + " M/s";
}

std::vector<outcome> outcomes_of(const workload& w, const std::vector<knob_sweep>& sweeps, unsigned interleavings) {
  std::vector<experiment> list;
  for (const knob_sweep& s : sweeps) {
    for (const std::string& v : s.values) list.push_back({.of = &w, .settings = {{s.knob, v}}});
  }
  return means_of(list, interleavings);
}

// Of the sweeps: those in which something does not run, or all is refused, or the rate falls, with a line for each.
std::vector<std::pair<knob_sweep, std::string>> falls(const workload& w, const std::vector<knob_sweep>& sweeps,
                                                      unsigned interleavings) {
  const std::vector<outcome> outcomes = outcomes_of(w, sweeps, interleavings);
  std::vector<std::pair<knob_sweep, std::string>> found;
  std::size_t at = 0;
  for (const knob_sweep& s : sweeps) {
    double best = 0;
    double fall = 0;
    bool broken = false;
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      const outcome& o = outcomes[at + i];
      if (!o.refused.empty()) continue;
      broken = broken || !o.ran();
      fall = std::max(fall, best > 0 ? 1 - o.rate / best : 0);
      best = std::max(best, o.rate);
    }
    if (broken || best == 0 || fall > tolerance) {
      found.emplace_back(s, fmt::format("falls by {:.1f} %: {}", fall * 100, line_of(s, outcomes, at)));
    }
    at += s.values.size();
  }
  return found;
}

TEST_P(more_never_hurts, knob) {
  const workload& w = GetParam();
  std::vector<knob_sweep> sweeps = knobs_of(w, full());
  if (!full()) std::erase_if(sweeps, [&](const knob_sweep& s) { return !has_its_turn(s.knob, w); });
  ASSERT_FALSE(sweeps.empty()) << w.name << ": no knob is tried";
  std::vector<knob_sweep> doubtful;
  for (auto& f : falls(w, sweeps, 1)) doubtful.push_back(std::move(f.first));
  for (const auto& f : falls(w, doubtful, 16)) ADD_FAILURE() << "more_never_hurts, " << w.name << ", " << f.second;
}

INSTANTIATE_TEST_SUITE_P(law, more_never_hurts, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
