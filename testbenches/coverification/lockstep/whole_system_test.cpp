// RTL in the place of models in whole systems: every figure of a run against the models', as in docs/validation.md.
#include "testbenches/coverification/lockstep/whole_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "testbenches/program/places/places.h"

namespace hcasim {
namespace {

struct mix {
  const char* name;
  std::vector<std::string> units;
};
const std::vector<mix>& mixes() {
  static const std::vector<mix> list = {
      {"doorbell", {"doorbell"}},
      {"key_check", {"key_check"}},
      {"page_walker", {"page_walker"}},
      {"mrc_cache", {"mrc_cache"}},
      {"extent_cache", {"extent_cache"}},
      {"cqc_cache", {"cqc_cache"}},
      {"qpc_cache", {"qpc_cache"}},
      {"all", {"doorbell", "key_check", "page_walker", "mrc_cache", "extent_cache", "cqc_cache", "qpc_cache"}},
  };
  return list;
}

bool full() {
  return std::getenv("HCASIM_FULL") != nullptr;
}

// Returns the runs. With HCASIM_FULL, testbenches run without options, and message_rate from 32 starts.
std::vector<std::string> runs() {
  if (full()) {
    return {"rkey_reuse", "transports", "message_rate --starts 32", "message_rate --starts 32 --operation read",
            "key_lifecycle"};
  }
  return {"rkey_reuse --length '1 MiB'", "ping", "message_rate --starts 8 --messages 16000",
          "message_rate --starts 8 --messages 16000 --operation read", "key_lifecycle --most_keys 1 --changes 40"};
}

constexpr double allowed = 0.02;
constexpr double explained = 0.005;  // larger differences have a known mechanism
constexpr double turn_ns = 20;       // host.poll_interval

// Returns the mechanism behind a difference above `explained`; null = none is known.
const char* mechanism(const run_figure& model, const run_figure& rtl) {
  const double ns = std::fabs(rtl.value - model.value) * model.ns;
  if (model.name.ends_with(": stall")) return std::fabs(difference(model, rtl)) <= allowed ? "phase" : nullptr;
  if (model.part && ns <= 2 * cycle_ns) return "edge";
  if (model.ns > 0 && ns <= turn_ns && (model.part || std::fabs(difference(model, rtl)) <= allowed)) return "turn";
  if (std::fabs(difference(model, rtl)) > allowed) return nullptr;
  // Edges cost time. RTL quicker than the model met other requests at other times, and so did the slowest of a few requests.
  if (model.name.ends_with("p99")) return "phase";
  if (model.ns == 0) return rtl.value < model.value ? "edge" : "phase";
  return nullptr;
}

std::string number(double v) {
  return fmt::format("{:.5g}", v);
}
std::string percent(double d) {
  return d == 0 ? "0" : fmt::format("{:+.2f} %", 100 * d);
}

// Demands `rows` as the page's rows that begin with `begin`, in this order. HCASIM_UPDATE_GOLDEN rewrites the page.
void check_rows(const std::string& header, const std::string& begin, const std::vector<std::string>& rows) {
  const std::string file = std::string(places::source) + "/docs/validation.md";
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  in.close();
  const auto table = std::find(lines.begin(), lines.end(), header);
  ASSERT_NE(table, lines.end()) << file << " has no table '" << header << "'";
  auto end = table;
  while (end != lines.end() && end->starts_with("|")) ++end;
  std::vector<std::string> found;
  std::copy_if(table, end, std::back_inserter(found), [&](const std::string& l) { return l.starts_with(begin); });
  if (!std::getenv("HCASIM_UPDATE_GOLDEN")) {
    EXPECT_EQ(found, rows);
    return;
  }
  if (found == rows) return;
  const auto of_run = [&](const std::string& l) { return l.starts_with(begin); };
  const auto at = std::find_if(table, end, of_run) - lines.begin();
  lines.erase(std::remove_if(table, end, of_run), end);
  lines.insert(lines.begin() + at, rows.begin(), rows.end());
  std::ofstream out(file);
  for (const std::string& l : lines) out << l << '\n';
}

class whole_system : public ::testing::TestWithParam<std::size_t> {};

TEST_P(whole_system, rtl_gives_the_figures_of_the_models) {
  const std::string run = runs()[GetParam()];
  const run_figures model = figures_of(run, {});
  ASSERT_EQ(model.problem, "");
  const std::string begin = fmt::format("| `{}` |", run);
  std::string row = fmt::format("{} {} |", begin, model.all.size());
  struct reason {
    std::size_t figures = 0;
    double most = 0;
    std::string example;
  };
  std::map<std::string, reason> reasons;
  for (const mix& m : mixes()) {
    const run_figures rtl = figures_of(run, m.units);
    ASSERT_EQ(rtl.problem, "") << m.name;
    ASSERT_EQ(rtl.words, model.words) << m.name;
    ASSERT_EQ(rtl.all.size(), model.all.size()) << m.name;
    double worst = 0;
    for (std::size_t i = 0; i < model.all.size(); ++i) {
      const run_figure& a = model.all[i];
      if (a.name.ends_with("_start")) continue;  // extremes, see one_start
      const run_figure& b = rtl.all[i];
      const double d = difference(a, b);
      const std::string both =
          fmt::format("{}, {}: {} to {}, {}", m.name, a.name, number(a.value), number(b.value), percent(d));
      std::printf("%s; %s\n", run.c_str(), both.c_str());
      if (!a.part && std::fabs(d) > std::fabs(worst)) worst = d;
      if (std::fabs(d) <= explained) continue;
      const char* const why = mechanism(a, b);
      EXPECT_NE(why, nullptr) << both;
      reason& r = reasons[why ? why : "?"];
      ++r.figures;
      if (std::fabs(d) <= r.most) continue;
      r.most = std::fabs(d);
      r.example = both;
    }
    row += fmt::format(" {} |", percent(worst));
  }
  std::vector<std::string> details;
  for (const auto& [why, r] : reasons) details.push_back(fmt::format("{} {} | {} | {} |", begin, why, r.figures, r.example));
  std::string names;
  for (const mix& m : mixes())
    names += fmt::format(" {} |", m.name == std::string("all") ? "all" : fmt::format("`{}`", m.name));
  check_rows("| run | figures |" + names, begin, {row});
  check_rows("| run | because | figures | the most |", begin, details);
}

double figure(const std::string& run, const std::vector<std::string>& units, const std::string& name) {
  const run_figures r = figures_of(run, units);
  EXPECT_EQ(r.problem, "") << run;
  for (const run_figure& f : r.all) {
    if (f.name == name) return f.value;
  }
  ADD_FAILURE() << run << " has no figure " << name;
  return 0;
}

// The start of a run decides which messages share a post, and the pattern repeats, so one start is one sample. The rate of RTL
// is one that the models have from some start.
class one_start : public ::testing::TestWithParam<const char*> {};

TEST_P(one_start, gives_a_rate_that_the_models_have_from_some_start) {
  const std::string run = GetParam() + std::string(full() ? "" : " --messages 20000");
  const std::string many = GetParam() + std::string(full() ? " --starts 32" : " --starts 16 --messages 32000");
  const double least = figure(many, {}, "slowest_start");
  const double most = figure(many, {}, "fastest_start");
  const std::string begin = fmt::format("| `{}` |", run);
  std::string row = fmt::format("{} {:.2f} to {:.2f} | {:.3f} |", begin, least, most, figure(run, {}, "message_rate"));
  for (const mix& m : mixes()) {
    const double rate = figure(run, m.units, "message_rate");
    std::printf("%s; %s: %.4f, the models from %.4f to %.4f\n", run.c_str(), m.name, rate, least, most);
    EXPECT_GE(rate, (1 - allowed) * least) << m.name;
    EXPECT_LE(rate, (1 + allowed) * most) << m.name;
    row += fmt::format(" {:.3f} |", rate);
  }
  std::string names;
  for (const mix& m : mixes())
    names += fmt::format(" {} |", m.name == std::string("all") ? "all" : fmt::format("`{}`", m.name));
  check_rows("| run | models, from many starts | models |" + names, begin, {row});
}

INSTANTIATE_TEST_SUITE_P(swap, one_start, ::testing::Values("message_rate", "message_rate --operation read"));

// The polling loop is so fine that its turns cost no time. RTL then lies between the model and a model with a cycle more at
// each visit.
TEST(edges, cost_less_than_a_cycle_at_each_visit) {
  const std::string run = "message_rate --messages 4000 --warm_up 4 --set 'node*.host.poll_interval=1 ps'";
  const double model = figure(run, {}, "message_rate");
  for (const auto& [unit, knob] : std::map<std::string, std::string>{{"key_check", "depth=7 cycles"},
                                                                     {"qpc_cache", "hit_latency=3 cycles"},
                                                                     {"mrc_cache", "hit_latency=3 cycles"},
                                                                     {"cqc_cache", "hit_latency=3 cycles"}}) {
    const double slower = figure(run + fmt::format(" --set 'node*.hca.{}.{}'", unit, knob), {}, "message_rate");
    const double rtl = figure(run, {unit}, "message_rate");
    std::printf("%s: model %.4f, rtl %.4f, a cycle more %.4f\n", unit.c_str(), model, rtl, slower);
    EXPECT_LT(slower, model) << unit;
    EXPECT_LE(rtl, model * 1.0001) << unit;
    EXPECT_GE(rtl, slower * 0.9999) << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(swap, whole_system, ::testing::Range(std::size_t{0}, std::size_t{5}));

}  // namespace
}  // namespace hcasim
