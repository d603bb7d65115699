// Lockstep finds every fault of models/<unit>/rtl/mutations.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "testbenches/coverification/lockstep/validation_page.h"

namespace hcasim::lockstep {
namespace {

struct listed {
  std::string wrong;
  bool first = false;  // of its right expression
};
// Returns the faults of a unit in the order of their numbers, which begin with 1.
std::vector<listed> list_of(const std::string& unit) {
  std::ifstream list(std::string(places::source) + "/models/" + rtl_of(unit) + "/rtl/mutations.txt");
  std::vector<listed> all;
  bool first = false;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("- ")) first = true;
    if (line.starts_with("+ ")) all.push_back({line.substr(2), std::exchange(first, false)});
  }
  return all;
}

// Compares the RTL with a fault in it.
report compare(const std::string& unit, unsigned fault, options o) {
  o.instrumented = true;
  o.fault = fault;
  return run_isolated(unit, make_bench(unit)->generate(o), o);
}

bool long_form() {
  return std::getenv("HCASIM_FULL") != nullptr;
}

options stream_of(mode how, std::uint64_t requests, std::uint64_t seed = 1, bool storms = false) {
  options o;
  o.how = how;
  o.requests = requests;
  o.seed = seed;
  o.storms = storms;
  return o;
}

// The streams in which a fault is looked for, one after the other.
std::vector<options> streams_for(const std::string& unit) {
  std::vector<options> all;
  if (rtl_of(unit) == "context_cache") {
    all.push_back(stream_of(mode::random, 6'000));
    for (const char* name : {"full", "random", "floods", "single"}) {
      for (const stream_kind& k : default_streams) {
        if (std::string(k.name) == name) all.push_back(with_stream({}, k, 100'000, false));
      }
    }
    return all;
  }
  // Those of one request at a time have twins.
  if (unit == "page_walker") all.push_back(stream_of(mode::single, 10'000));
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    all.push_back(stream_of(mode::random, 24'000, seed));
    all.push_back(stream_of(mode::full, 2'400, seed, true));
  }
  return all;
}

// Without HCASIM_FULL the first fault of each right expression, and of a long list that of every fourth.
bool is_judged(const std::vector<listed>& faults, unsigned fault) {
  if (long_form()) return true;
  const auto first = std::count_if(faults.begin(), faults.begin() + fault, [](const listed& l) { return l.first; });
  return faults[fault - 1].first && (faults.size() < 60 || first % 4 == 0);
}

class faults_of : public ::testing::TestWithParam<std::string> {};

// Every seeded fault is found in less than 100 000 requests; the list says after how many.
TEST_P(faults_of, are_all_found) {
  const std::vector<listed> faults = list_of(GetParam());
  ASSERT_EQ(faults.size(), make_bench(GetParam())->faults());
  ASSERT_GE(faults.size(), 10U);
  const bool shared = rtl_of(GetParam()) != GetParam();
  if (shared && !long_form()) GTEST_SKIP() << "those of " << rtl_of(GetParam()) << " once more; HCASIM_FULL=1 runs them";
  std::uint64_t worst = 0;
  for (unsigned f = 1; f <= faults.size(); ++f) {
    if (!is_judged(faults, f)) continue;
    std::uint64_t before = 0;
    bool found = false;
    for (const options& o : streams_for(GetParam())) {
      const report r = compare(GetParam(), f, o);
      const std::string late = r.ok() ? out_of_bounds(r, o) : "";
      found = !r.ok() || !late.empty();
      before += found ? r.requests : o.requests;
      if (!found) continue;
      std::printf("fault %2u: found after %6lu requests: %s\n", f, static_cast<unsigned long>(before),
                  late.empty() ? r.problem.c_str() : late.c_str());
      break;
    }
    EXPECT_TRUE(found) << "fault " << f << " was not found: " << faults[f - 1].wrong;
    worst = std::max(worst, before);
  }
  std::printf("%s: %zu faults, all found in at most %lu requests\n", GetParam().c_str(), faults.size(),
              static_cast<unsigned long>(worst));
  EXPECT_LT(worst, 133'000U);
  check_row("| faults of `" + GetParam() + "` |",
            "| faults of `" + GetParam() + "` | " + std::to_string(faults.size()) + " | all |");
}

INSTANTIATE_TEST_SUITE_P(units, faults_of, ::testing::ValuesIn(bench_names()), [](const auto& i) { return i.param; });

class faults_of_invalidation : public ::testing::TestWithParam<std::pair<std::string, std::vector<std::string>>> {};

// An entry that was dropped is used once more, or comes before the bytes that it must have: every run of 100 000 random
// requests finds it, without what lockstep runs before. Twenty seeds with HCASIM_FULL, otherwise one, and not of all faults.
TEST_P(faults_of_invalidation, are_found_by_every_run) {
  const auto& [unit, all_wrong] = GetParam();
  const std::vector<listed> faults = list_of(unit);
  for (const std::string& wrong : all_wrong) {
    const auto fault = std::find_if(faults.begin(), faults.end(), [&](const listed& l) { return l.wrong == wrong; });
    ASSERT_NE(fault, faults.end()) << wrong;
    if (!long_form() && &wrong - all_wrong.data() >= (rtl_of(unit) == unit ? 3 : 1)) break;
    options o;
    for (o.seed = 1; o.seed <= (long_form() ? 20U : 1U); ++o.seed) {
      const report r = compare(unit, static_cast<unsigned>(fault - faults.begin()) + 1, o);
      EXPECT_FALSE(r.ok()) << wrong << ", seed " << o.seed;
      std::printf("seed %2lu: found after %6lu requests\n", static_cast<unsigned long>(o.seed),
                  static_cast<unsigned long>(r.requests));
    }
  }
}

// An entry that was dropped stays; a request joins a read whose entry was dropped; a drop does not wait for its write; a read
// overtakes a write, or one that waits.
const std::vector<std::string> of_caches{"gives_up && !give_writes && 1'b0",
                                         "doing[i] == context_pkg::DROPPING && t_index[i] == l_index && !fault_on_its_way",
                                         "l_moves && l_forgets && 1'b0",
                                         "gives_up && doing[i] == context_pkg::DROPPING && t_slot[i] == g_slot",
                                         "w_busy[i] && w_index[i] == index && 1'b0",
                                         "e_waits[i] && e_index[i] == index && 1'b0"};
INSTANTIATE_TEST_SUITE_P(units, faults_of_invalidation,
                         ::testing::Values(std::pair("page_walker",
                                                     std::vector<std::string>{
                                                         "other.table_root == map.table_root && other_line == line_number",
                                                         "!(drops && covered[m_tag])"}),
                                           std::pair("context_cache", of_caches), std::pair("qpc_cache", of_caches)),
                         [](const auto& i) { return i.param.first; });

}  // namespace
}  // namespace hcasim::lockstep
