// More of any resource never makes a run slower, nor does less of any time that a unit takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/sweep.h"
#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

constexpr double tolerance = 0.01;

// Falls with a physical reason. One that is no longer there fails, too.
struct exception {
  std::string_view workload;
  std::string_view knob;
  double most;
  const char* reason;
};
constexpr exception exceptions[] = {
    {"many_qps", "node*.hca.send_queue.units", 0.12,
     "each unit holds a QP, and 32 contexts are cached: more units push out what the others are about to use"},
    {"own_translations", "node*.hca.qpc_cache.sets", 0.1,
     "with one set only four of 32 QPs are served at a time, and their requests and answers stay together; with two and four "
     "sets more take turns, and push out each other's contexts"},
};
const exception* known(const workload& w, const knob_sweep& s) {
  for (const exception& e : exceptions) {
    if (e.workload == w.name && e.knob == s.knob) return &e;
  }
  return nullptr;
}

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

// How closely a rate is looked at: the mean over cables of so many lengths, and how often the workload's messages.
struct look {
  unsigned interleavings;
  std::uint64_t length;
};
constexpr look once{1, 1};
// A longer run catches up with the queues of a start; a mean of four removes most of the chance.
constexpr look again{4, 3};
constexpr look closely{16, 3};
// The best and the worst of ten means are likely to be chance again: the two are measured again, by themselves.
constexpr look by_themselves{64, 3};

std::vector<outcome> outcomes_of(const workload& w, const std::vector<knob_sweep>& sweeps, const look& l) {
  std::vector<experiment> list;
  const auto longer = [length = l.length](setup& s) { s.traffic.messages *= length; };
  std::vector<std::size_t> places;
  std::optional<std::size_t> unchanged;  // the workload as it is, which is run once for all knobs
  for (const knob_sweep& s : sweeps) {
    for (const std::string& v : s.values) {
      const bool own = v == s.own;
      places.push_back(own ? unchanged.value_or(list.size()) : list.size());
      if (own && unchanged) continue;
      if (own) unchanged = list.size();
      list.push_back({.of = &w, .settings = {{s.knob, v}}, .adjust = longer});
    }
  }
  const std::vector<outcome> each = means_of(list, l.interleavings);
  std::vector<outcome> outcomes;
  for (const std::size_t place : places) outcomes.push_back(each[place]);
  return outcomes;
}

// Returns the sweeps whose first, middle and last value do not give one rate, to the last bit. A knob without effect from a
// 32nd to sixteen times its value binds nowhere between.
std::vector<knob_sweep> that_matter(const workload& w, std::vector<knob_sweep> sweeps) {
  std::vector<knob_sweep> ends = sweeps;
  for (knob_sweep& s : ends) s.values = {s.values.front(), s.values[s.values.size() / 2], s.values.back()};
  const std::vector<outcome> outcomes = outcomes_of(w, ends, once);
  std::size_t at = 0;
  std::erase_if(sweeps, [&](const knob_sweep&) {
    const outcome* const o = &outcomes[at];
    at += 3;
    return o[0].ran() && o[1].ran() && o[2].ran() && o[0].rate == o[1].rate && o[1].rate == o[2].rate;
  });
  return sweeps;
}

struct found_fall {
  knob_sweep sweep;
  knob_sweep pair;  // the value before the fall, and the one after it
  double by;        // 1 when something does not run
  std::string line;
};

// Returns the sweeps in which something does not run, or all is refused, or the rate falls.
std::vector<found_fall> falls(const workload& w, const std::vector<knob_sweep>& sweeps, const look& l) {
  const std::vector<outcome> outcomes = outcomes_of(w, sweeps, l);
  std::vector<found_fall> found;
  std::size_t at = 0;
  for (const knob_sweep& s : sweeps) {
    double best = 0;
    double fall = 0;
    std::size_t best_at = 0;
    knob_sweep pair = s;
    bool broken = false;
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      const outcome& o = outcomes[at + i];
      if (!o.refused.empty()) continue;
      broken = broken || !o.ran();
      if (best > 0 && 1 - o.rate / best > fall) {
        fall = 1 - o.rate / best;
        pair.values = {s.values[best_at], s.values[i]};
      }
      if (o.rate > best) {
        best = o.rate;
        best_at = i;
      }
    }
    if (broken || best == 0 || fall > tolerance) {
      found.push_back({s, broken ? s : pair, broken ? 1 : fall,
                       fmt::format("falls by {:.1f} %: {}", fall * 100, line_of(s, outcomes, at))});
    }
    at += s.values.size();
  }
  return found;
}

TEST_P(more_never_hurts, knob) {
  const workload& w = GetParam();
  std::vector<knob_sweep> sweeps = knobs_of(w, full());
  if (full()) {
    sweeps = that_matter(w, std::move(sweeps));
  } else {
    std::erase_if(sweeps, [&](const knob_sweep& s) { return !has_its_turn(s.knob, w); });
  }
  ASSERT_FALSE(sweeps.empty()) << w.name << ": no knob is tried";
  for (const look& l : {once, again}) {
    std::vector<knob_sweep> doubtful;
    for (auto& f : falls(w, sweeps, l)) doubtful.push_back(std::move(f.sweep));
    sweeps = std::move(doubtful);
  }
  std::set<std::string> fell;
  std::vector<knob_sweep> pairs;
  for (auto& f : falls(w, sweeps, closely)) pairs.push_back(std::move(f.pair));
  for (const found_fall& f : falls(w, pairs, by_themselves)) {
    fell.insert(f.sweep.knob);
    const exception* e = known(w, f.sweep);
    if (!e || f.by > e->most) ADD_FAILURE() << "more_never_hurts, " << w.name << ", " << f.line;
  }
  for (const exception& e : exceptions) {
    if (full() && e.workload == w.name && !fell.contains(std::string(e.knob)))
      ADD_FAILURE() << w.name << ", " << e.knob << " falls no more: its exception can go (" << e.reason << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(law, more_never_hurts, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
