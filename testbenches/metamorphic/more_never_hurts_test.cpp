// More of any resource never makes a run slower, nor does less of any time that a unit takes.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "testbenches/metamorphic/exceptions.h"
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

TEST_P(more_never_hurts, knob) {
  const workload& w = GetParam();
  std::vector<knob_sweep> sweeps = knobs_of(w, full());
  if (!full()) std::erase_if(sweeps, [&](const knob_sweep& s) { return !has_its_turn(s.knob, w); });
  std::vector<experiment> list;
  for (const knob_sweep& s : sweeps) {
    for (const std::string& v : s.values) list.push_back({.of = &w, .settings = {{s.knob, v}}});
  }
  const std::vector<outcome> outcomes = run_all(list);
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
    const bool hurts = broken || fall > tolerance + allowed_fall(w.name, s.knob);
    const std::string line = line_of(s, outcomes, at);
    if (hurts) ADD_FAILURE() << "more_never_hurts, " << w.name << fmt::format(", falls by {:.1f} %: ", fall * 100) << line;
    at += s.values.size();
  }
}

INSTANTIATE_TEST_SUITE_P(law, more_never_hurts, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
