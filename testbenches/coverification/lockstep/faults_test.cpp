// Lockstep finds every fault of models/adapter/<unit>/rtl/mutations.txt.
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
  std::ifstream list(std::string(places::source) + "/models/adapter/" + unit + "/rtl/mutations.txt");
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

std::string found_in(const std::string& unit, const report& r, const options& o) {
  return r.ok() ? out_of_bounds(unit, r, o) : r.problem;
}

class faults_of : public ::testing::TestWithParam<std::string> {};

// Every seeded fault is found in less than 100 000 requests; the list says after how many. Without HCASIM_FULL the first of
// each right expression.
TEST_P(faults_of, are_all_found) {
  const std::vector<listed> faults = list_of(GetParam());
  ASSERT_EQ(faults.size(), make_bench(GetParam())->faults());
  ASSERT_GE(faults.size(), 10U);
  const bool twins = GetParam() == "page_walker";  // its streams of one request at a time have them
  std::uint64_t worst = 0;
  for (unsigned f = 1; f <= faults.size(); ++f) {
    if (!faults[f - 1].first && !std::getenv("HCASIM_FULL")) continue;
    bool found = false;
    std::uint64_t before = 0;
    for (std::uint64_t part = twins ? 0 : 1; part < 9 && !found; ++part) {
      options o;
      o.how = part == 0 ? mode::single : part % 2 != 0 ? mode::random : mode::full;
      o.storms = o.how == mode::full;  // floods
      o.requests = part == 0 ? 10'000 : o.storms ? 2'400 : 24'000;
      o.seed = 1 + (part == 0 ? 0 : (part - 1) / 2);
      const report r = compare(GetParam(), f, o);
      const std::string problem = found_in(GetParam(), r, o);
      found = !problem.empty();
      before += found ? r.requests : o.requests;
      if (found)
        std::printf("fault %2u: found after %6lu requests: %s\n", f, static_cast<unsigned long>(before), problem.c_str());
    }
    EXPECT_TRUE(found) << "fault " << f << " was not found: " << faults[f - 1].wrong;
    worst = std::max(worst, before);
  }
  std::printf("%s: %zu faults, all found in at most %lu requests\n", GetParam().c_str(), faults.size(),
              static_cast<unsigned long>(worst));
  EXPECT_LT(worst, 100'000U);
  check_row("| faults of `" + GetParam() + "` |",
            "| faults of `" + GetParam() + "` | " + std::to_string(faults.size()) + " | all |");
}

INSTANTIATE_TEST_SUITE_P(units, faults_of, ::testing::ValuesIn(rtl_names()), [](const auto& i) { return i.param; });

// An entry that was dropped is used once more: every run of 100 000 random requests finds it, without what lockstep runs
// before. Twenty seeds with HCASIM_FULL, otherwise one.
TEST(faults, of_invalidation_are_found_by_every_run) {
  const std::vector<listed> faults = list_of("page_walker");
  for (const char* wrong : {"other.table_root == map.table_root && other_line == line_number", "!(drops && covered[m_tag])"}) {
    const auto fault = std::find_if(faults.begin(), faults.end(), [&](const listed& l) { return l.wrong == wrong; });
    ASSERT_NE(fault, faults.end()) << wrong;
    options o;
    for (o.seed = 1; o.seed <= (std::getenv("HCASIM_FULL") ? 20U : 1U); ++o.seed) {
      const report r = compare("page_walker", static_cast<unsigned>(fault - faults.begin()) + 1, o);
      EXPECT_FALSE(r.ok()) << wrong << ", seed " << o.seed;
      std::printf("seed %2lu: found after %6lu requests\n", static_cast<unsigned long>(o.seed),
                  static_cast<unsigned long>(r.requests));
    }
  }
}

// RTL that takes or begins nothing for 50 of 4 096 cycles, or joins no walk then: every default stream of 100 000 requests
// finds it, by its mean error, by what is late alone, or by a line that is read twice. Twenty seeds of all of them with
// HCASIM_FULL.
TEST(faults, of_rare_cycles_are_found_by_every_run) {
  const std::vector<listed> faults = list_of("page_walker");
  const bool full = std::getenv("HCASIM_FULL") != nullptr;
  unsigned rare = 0;
  for (unsigned f = 1; f <= faults.size(); ++f) {
    const std::string& wrong = faults[f - 1].wrong;
    const bool stalls = wrong.starts_with("!frozen &&") || wrong.starts_with("queue_any &&");
    const bool joins = wrong.starts_with("other.table_root") && wrong.ends_with("fault_cycle >= 12'd50");
    if (!stalls && !joins) continue;
    ++rare;
    if (!full && !wrong.ends_with("queue_count != '0)")) continue;
    options o;
    o.requests = full ? 100'000 : 20'000;
    for (o.seed = 1; o.seed <= (full ? 20U : 1U); ++o.seed) {
      const report r = compare("page_walker", f, o);
      const std::string problem = found_in("page_walker", r, o);
      EXPECT_NE(problem, "") << wrong << ", seed " << o.seed;
      std::printf("seed %2lu: found after %6lu requests: %s\n", static_cast<unsigned long>(o.seed),
                  static_cast<unsigned long>(r.requests), problem.c_str());
    }
  }
  EXPECT_EQ(rare, 4U);
}

}  // namespace
}  // namespace hcasim::lockstep
