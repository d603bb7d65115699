// Lockstep finds every fault of models/adapter/<unit>/rtl/mutations.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "testbenches/coverification/lockstep/listed_faults_test_kit.h"
#include "testbenches/coverification/lockstep/validation_page.h"

namespace hcasim::lockstep {
namespace {

struct part {
  options how;
  item_stream items;
};
// Returns the streams in which the faults of a unit are looked for, fewer than 100 000 requests in all.
std::vector<part> streams_of(const std::string& unit) {
  std::vector<part> all;
  const auto add = [&](mode how, bool floods, std::uint64_t requests, std::uint64_t seed) {
    options o;
    o.how = how;
    o.storms = floods;
    o.requests = requests;
    o.seed = seed;
    all.push_back({o, make_bench(unit)->generate(o)});
  };
  if (rtl_of(unit) == "context_cache") {
    add(mode::random, false, 6'000, 1);
    for (const std::string_view name : {"floods", "random", "full", "single"}) {
      for (const stream_kind& k : default_streams) {
        if (k.name != name) continue;
        const options o = with_stream({}, k, 100'000, false);
        all.push_back({o, make_bench(unit)->generate(o)});
      }
    }
    return all;
  }
  if (unit == "page_walker") add(mode::single, false, 10'000, 1);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    add(mode::random, false, 24'000, seed);
    add(mode::full, true, unit == "doorbell" && seed == 1 ? 10'000 : 2'400, seed);
    if (seed == 1 && unit == "key_check") add(mode::single, false, 10'000, 1);
    if (seed == 1 && unit == "doorbell") add(mode::full, false, 10'000, 1);
  }
  return all;
}

std::string found_in(const std::string& unit, const report& r, const options& o) {
  return r.ok() ? out_of_bounds(unit, r, o) : r.problem;
}

class faults_of : public ::testing::TestWithParam<std::string> {};

// Every seeded fault is found in less than 100 000 requests; the list has the number for each. Without HCASIM_FULL, only the
// first fault of each right expression is tried, and of every second one in a long list.
TEST_P(faults_of, are_all_found) {
  const std::vector<listed> faults = list_of(GetParam());
  ASSERT_EQ(faults.size(), make_bench(GetParam())->faults());
  ASSERT_GE(faults.size(), 10U);
  const bool shared = rtl_of(GetParam()) != GetParam();
  if (shared && !std::getenv("HCASIM_FULL")) {
    GTEST_SKIP() << "the faults of " << rtl_of(GetParam()) << " once more; HCASIM_FULL=1 runs them";
  }
  const std::vector<part> parts = streams_of(GetParam());
  std::uint64_t worst = 0;
  const unsigned every = faults.size() > 100 ? 2 : faults.size() > 60 ? 4 : 1;
  unsigned rights = 0;
  for (unsigned f = 1; f <= faults.size(); ++f) {
    const bool chosen = faults[f - 1].first && rights++ % every == 0;
    if (!chosen && !std::getenv("HCASIM_FULL")) continue;
    bool found = false;
    std::uint64_t before = 0;
    for (const auto& [how, items] : parts) {
      if (found) break;
      const report r = compare(GetParam(), f, how, items);
      const std::string problem = found_in(GetParam(), r, how);
      found = !problem.empty();
      before += found ? r.requests : items.size();
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

INSTANTIATE_TEST_SUITE_P(units, faults_of, ::testing::ValuesIn(bench_names()), [](const auto& i) { return i.param; });

struct hole {
  const char* unit;
  const char* right;
  const char* wrong;
};
// Each fault lets an older entry or key stand for a newer one, always or for 50 of 4 096 cycles.
constexpr hole holes[] = {
    {"page_walker", "other.table_root == map.table_root && other_line == line_number && !poisoned[i]",
     "other.table_root == map.table_root && other_line == line_number"},
    {"page_walker", "!poisoned[m_tag] && !(drops && covered[m_tag])", "!(drops && covered[m_tag])"},
    {"key_check", "taking && take_hit && take_at == give_at", "1'b0"},
    {"key_check", "renew_current != '0 || renew_old != '0",
     "fault_cycle >= 12'd50 && (renew_current != '0 || renew_old != '0)"},
    {"key_check", "taking && take_hit && take_at == renew_at", "1'b0"},
    {"context_cache", "", "gives_up && !give_writes && 1'b0"},
    {"context_cache", "", "doing[i] == context_pkg::DROPPING && t_index[i] == l_index && !fault_on_its_way"},
    {"context_cache", "", "l_moves && l_forgets && 1'b0"},
    {"context_cache", "", "gives_up && doing[i] == context_pkg::DROPPING && t_slot[i] == g_slot"},
    {"context_cache", "", "w_busy[i] && w_index[i] == index && 1'b0"},
    {"context_cache", "", "e_waits[i] && e_index[i] == index && 1'b0"}};

// Every run of 100 000 random requests finds these faults, without lockstep's other streams. With HCASIM_FULL, twenty seeds;
// otherwise one seed, and the first fault of each unit.
TEST(faults, of_invalidation_are_found_by_every_run) {
  std::string before;
  for (const auto& [unit, right, wrong] : holes) {
    if (std::exchange(before, unit) == unit && !std::getenv("HCASIM_FULL")) continue;
    const std::vector<listed> faults = list_of(unit);
    const auto fault = std::find_if(faults.begin(), faults.end(),
                                    [&](const listed& l) { return (*right == 0 || l.right == right) && l.wrong == wrong; });
    ASSERT_NE(fault, faults.end()) << wrong;
    options o;
    for (o.seed = 1; o.seed <= (std::getenv("HCASIM_FULL") ? 20U : 1U); ++o.seed) {
      const report r = compare(unit, static_cast<unsigned>(fault - faults.begin()) + 1, o, make_bench(unit)->generate(o));
      EXPECT_FALSE(r.ok()) << wrong << ", seed " << o.seed;
      std::printf("%s, seed %2lu: found after %6lu requests\n", unit, static_cast<unsigned long>(o.seed),
                  static_cast<unsigned long>(r.requests));
    }
  }
}

// RTL that takes or begins no request for 50 of 4 096 cycles, or joins no walk in these cycles. Every default stream finds such
// RTL, by the mean error, the share of late requests, or a line read twice. With HCASIM_FULL, 100 000 requests and twenty seeds
// of all these faults.
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
      const report r = compare("page_walker", f, o, make_bench("page_walker")->generate(o));
      const std::string problem = found_in("page_walker", r, o);
      EXPECT_NE(problem, "") << wrong << ", seed " << o.seed;
      std::printf("seed %2lu: found after %6lu requests: %s\n", static_cast<unsigned long>(o.seed),
                  static_cast<unsigned long>(r.requests), problem.c_str());
    }
  }
  EXPECT_EQ(rare, 4U);
}

// Some faults are active in 50 of 4 096 cycles, and one loses a doorbell of 10 000. The default streams of 100 000 requests
// find each of them; HCASIM_FULL runs all with twenty seeds. Losses at a full FIFO alone are too few for every seed.
TEST(faults, of_rare_doorbells_are_found_by_every_run) {
  const std::vector<listed> faults = list_of("doorbell");
  const bool full = std::getenv("HCASIM_FULL") != nullptr;
  unsigned rare = 0;
  for (unsigned f = 1; f <= faults.size(); ++f) {
    const std::string& wrong = faults[f - 1].wrong;
    if (wrong.find("fault_") == std::string::npos || wrong.find("&& full") != std::string::npos) continue;
    ++rare;
    if (!full && wrong.find("fault_write") == std::string::npos) continue;
    for (std::uint64_t seed = 1; seed <= (full ? 20U : 1U); ++seed) {
      std::string problem;
      std::uint64_t before = 0;
      for (const stream_kind& k : streams_for("doorbell", false)) {
        if (!problem.empty()) break;
        options o = with_stream({}, k, 100'000, false);
        o.seed = seed;
        const report r = compare("doorbell", f, o, make_bench("doorbell")->generate(o));
        problem = found_in("doorbell", r, o);
        before += problem.empty() ? o.requests : r.requests;
      }
      EXPECT_NE(problem, "") << wrong << ", seed " << seed;
      std::printf("fault %u, seed %2lu: found after %6lu requests: %s\n", f, static_cast<unsigned long>(seed),
                  static_cast<unsigned long>(before), problem.c_str());
    }
  }
  EXPECT_EQ(rare, 5U);
}

}  // namespace
}  // namespace hcasim::lockstep
