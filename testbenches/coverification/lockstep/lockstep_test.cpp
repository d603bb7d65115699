// Lockstep of every unit with RTL, and lockstep itself, which must find planted faults.
#include "testbenches/coverification/lockstep/lockstep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "testbenches/coverification/lockstep/accuracy.h"
#include "testbenches/coverification/lockstep/search.h"
#include "testbenches/coverification/lockstep/validation_page.h"
#include "testbenches/program/places/places.h"
#include "tlm/rtl/coverage_file.h"

namespace hcasim::lockstep {
namespace {

void check_figures(const std::string& unit, const report& r) {
  char row[256];
  std::snprintf(row, sizeof row, "| `%s` | %lu | %lu | %.2f | %.3f | %.2f %% | %.0f | %.0f | %+.2f %% |", unit.c_str(),
                static_cast<unsigned long>(r.requests), static_cast<unsigned long>(r.differences), r.mean_latency, r.mean_error,
                100 * r.relative_error, r.p99_error, r.max_error, 100 * r.throughput_error());
  check_row("| `" + unit + "` | " + std::to_string(r.requests) + " ", row);
}

class lockstep_of : public ::testing::TestWithParam<std::string> {
 protected:
  static report compare(mode how, std::uint64_t requests, std::uint64_t seed, options o = {}) {
    o.how = how;
    o.requests = requests;
    o.seed = seed;
    return run_isolated(GetParam(), make_bench(GetParam())->generate(o), o);
  }
  // Returns the number of seeds: half as many for RTL that is another unit's with other parameters.
  static std::uint64_t seeds(std::uint64_t of_its_own) {
    const std::vector<std::string> own = rtl_names();
    return std::count(own.begin(), own.end(), GetParam()) > 0 ? of_its_own : of_its_own / 2;
  }
};
class lockstep_of_rtl : public lockstep_of {};

TEST_P(lockstep_of, single_requests_are_equal_to_the_cycle) {
  for (std::uint64_t seed = 1; seed <= seeds(4); ++seed) {
    const report r = compare(mode::single, 10'000, seed);
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(r.exact, r.requests) << "seed " << seed;
    EXPECT_EQ(r.max_error, 0);
  }
}

TEST_P(lockstep_of, full_pipelines_are_equal_to_the_cycle) {
  for (std::uint64_t seed = 1; seed <= seeds(4); ++seed) {
    const report r = compare(mode::full, 20'000, seed);
    EXPECT_EQ(r.problem, "");
    EXPECT_EQ(r.exact, r.requests) << "seed " << seed;
    EXPECT_EQ(r.max_error, 0);
    EXPECT_EQ(r.model_cycles, r.rtl_cycles);
  }
}

// Both sides drop the same doorbells of an overflow, and recover them in the same cycle. A hundred seeds with HCASIM_FULL.
TEST_P(lockstep_of, floods_are_equal_to_the_cycle) {
  const std::uint64_t last = std::getenv("HCASIM_FULL") ? 100 : seeds(4);
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    options o;
    o.storms = true;
    const report r = compare(mode::full, 20'000, seed, o);
    EXPECT_EQ(r.problem, "") << "seed " << seed;
    EXPECT_EQ(r.exact, r.requests) << "seed " << seed;
    EXPECT_EQ(r.races, 0U);
    EXPECT_EQ(r.model_cycles, r.rtl_cycles);
  }
}

// Storms offer more requests than the RTL has room for, and for key_check more drains, too.
TEST_P(lockstep_of, storms_offer_one_more_than_full) {
  static const std::map<std::string, std::vector<std::string>> points{{"doorbell", {"aside", "dropped"}},
                                                                      {"key_check", {"beyond_slots", "beyond_drains"}},
                                                                      {"context_cache", {"beyond_tags"}},
                                                                      {"qpc_cache", {"beyond_tags"}},
                                                                      {"page_walker", {"beyond_tags"}}};
  options o;
  o.storms = true;
  report r = compare(mode::random, 25'000, 1, o);
  EXPECT_EQ(r.problem, "");
  for (const std::string& point : points.at(GetParam())) EXPECT_GT(r.covered[point], 0U) << point;
}

// Some requests have several right answers. Such requests are few, so they hide no fault.
TEST_P(lockstep_of, races_are_met_and_are_few) {
  const report r = compare(mode::random, 50'000, 1);
  EXPECT_EQ(r.problem, "");
  EXPECT_LE(r.races, r.requests / 20);
  EXPECT_GT(r.races, 0U);
}

// With HCASIM_FULL in the environment a million requests, otherwise the first 100 000 of them.
TEST_P(lockstep_of, random_requests_with_stalls_and_misses) {
  const std::uint64_t requests = std::getenv("HCASIM_FULL") ? 1'000'000 : 100'000;
  const report r = compare(mode::random, requests, 1);
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.differences, 0U);
  EXPECT_EQ(r.requests, requests);
  EXPECT_LE(r.relative_error, 0.02);
  EXPECT_LE(std::abs(r.throughput_error()), 0.01);
  EXPECT_EQ(out_of_bounds(GetParam(), r, {}), "");
  for (const auto& [point, n] : r.covered) EXPECT_GT(n, 0U) << "never seen: " << point;
  check_figures(GetParam(), r);
}

// Errors in cycles beside the unit's own time, over seeds and stalls.
TEST_P(lockstep_of_rtl, is_as_accurate_as_the_page_says) {
  for (const stall_condition& w : stall_conditions) {
    const accuracy a = measure_accuracy(GetParam(), w, 5, 10'000);
    EXPECT_EQ(a.problem, "");
    check_row("| `" + GetParam() + "` | " + name_of(w) + " |", row_of(a));
  }
}

// Replays the boundary of a system run, as traces/streams has it.
TEST_P(lockstep_of, a_stream_of_a_system_run) {
  std::string unit;
  options o;
  const item_stream s = read_stream(std::string(places::source) + "/traces/streams/" + GetParam() + ".stream", unit, o);
  EXPECT_EQ(unit, GetParam());
  EXPECT_GT(s.size(), 50U);
  const report r = run_isolated(unit, s, o);
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.requests, s.size());
  EXPECT_LE(r.relative_error, 0.02);
}

// Answers agree with no stalls, with heavy ones, and with long ones that fill all queues.
TEST_P(lockstep_of, answers_agree_under_any_stalls) {
  // A hundred with HCASIM_FULL.
  const std::uint64_t last = std::getenv("HCASIM_FULL") ? 100 : seeds(2);
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    options o;
    o.storms = true;
    EXPECT_EQ(compare(mode::random, 25'000, seed, o).problem, "") << "storms, seed " << seed;
  }
  for (const double stall : {0.0, 0.3, 0.6}) {
    options o;
    o.stall = stall;
    for (std::uint64_t seed = 5; seed < 5 + seeds(2); ++seed)
      EXPECT_EQ(compare(mode::random, 15'000, seed, o).problem, "") << stall << " seed " << seed;
  }
}

// Assertions: where there is an instrumented design.
TEST_P(lockstep_of, no_control_output_is_unknown_and_no_assertion_fails) {
  options o;
  o.instrumented = true;
  o.check_x = true;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) EXPECT_EQ(compare(mode::random, 5'000, seed, o).problem, "");
}

// Covers the RTL's lines and toggles, with the exceptions in models/adapter/UNIT/rtl/coverage.txt.
TEST_P(lockstep_of_rtl, reaches_its_lines_and_toggles) {
  const std::string file = ::testing::TempDir() + "lockstep_" + GetParam() + ".coverage";
  rtl::coverage_file c;
  const auto run_with = [&](mode how, std::uint64_t requests, std::uint64_t seed, double stall, bool storms) {
    options o;
    o.covered = true;
    o.model = false;
    o.stall = stall;
    o.storms = storms;
    o.coverage_file = file;
    EXPECT_EQ(compare(how, requests, seed, o).problem, "");
    c.add(file);
    std::filesystem::remove(file);
  };
  run_with(mode::single, 1'000, 1, 0, false);
  run_with(mode::full, 2'000, 1, 0, false);
  run_with(mode::random, 15'000, 1, 0.1, false);
  for (std::uint64_t seed = 3; seed <= 4; ++seed) run_with(mode::random, 25'000, seed, seed & 1 ? 0.1 : 0.4, true);
  for (const std::string& wrong :
       c.leave_out(std::string(places::source) + "/models/adapter/" + GetParam() + "/rtl/coverage.txt"))
    ADD_FAILURE() << wrong;
  for (const char* kind : {"line", "toggle"}) {
    const rtl::coverage_file::share s = c.of(kind);
    std::printf("%s: %s coverage %.2f %% of %lu points, %lu left out\n", GetParam().c_str(), kind, 100 * s.ratio(),
                static_cast<unsigned long>(s.points), static_cast<unsigned long>(s.left_out));
    for (const std::string& m : c.missed(kind)) std::printf("  missed: %s\n", m.c_str());
    EXPECT_GT(s.points, 100U);
    EXPECT_GE(s.ratio(), 0.95) << kind;
  }
  // All bins of the streams must be hit, except bins of tables, which depend on the seed.
  const std::string group = GetParam() + "_stream";
  for (const std::string& m : c.missed("bin", group)) {
    const bool by_chance =
        m.starts_with("bin page_walker_stream levels_x_page.") || m.starts_with("bin page_walker_stream page.");
    EXPECT_TRUE(by_chance) << m;
  }
  EXPECT_GT(c.of("bin", group).points, 30U);
}

INSTANTIATE_TEST_SUITE_P(units, lockstep_of, ::testing::ValuesIn(bench_names()), [](const auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(units, lockstep_of_rtl, ::testing::ValuesIn(rtl_names()), [](const auto& i) { return i.param; });

TEST(lockstep, a_failing_stream_is_cut_to_what_is_needed_and_can_be_replayed) {
  options o;
  o.requests = 2000;
  o.instrumented = true;
  o.fault = 1;
  const std::string unit = "key_check";
  const item_stream s = make_bench(unit)->generate(o);
  const report r = run_isolated(unit, s, o);
  ASSERT_FALSE(r.ok());
  const item_stream least = shortest(unit, s, o).stream;
  EXPECT_LE(least.size(), 3U);
  const std::string folder = ::testing::TempDir() + "lockstep_replay";
  std::filesystem::create_directories(folder);
  write_stream(folder + "/least.stream", unit, least, o);
  std::string unit_read;
  options read;
  const item_stream again = read_stream(folder + "/least.stream", unit_read, read);
  EXPECT_EQ(unit_read, unit);
  EXPECT_EQ(again, least);
  read.instrumented = true;
  read.vcd = folder + "/least.vcd";
  EXPECT_FALSE(run_isolated(unit, again, read).ok());
  std::ifstream vcd(read.vcd);
  std::stringstream text;
  text << vcd.rdbuf();
  const std::string waves = text.str();
  EXPECT_NE(waves.find("rsp_valid"), std::string::npos);
  EXPECT_GT(std::count(waves.begin(), waves.end(), '#'), 10);
  std::filesystem::remove_all(folder);
}

// For any fault, the shortened stream fails as the long one did, at one of its own items. With HCASIM_FULL, more faults.
TEST(lockstep, a_shortened_stream_fails_for_the_same_reason) {
  const std::string folder = ::testing::TempDir() + "lockstep_evidence";
  std::filesystem::create_directories(folder);
  const bool full = std::getenv("HCASIM_FULL") != nullptr;
  unsigned found = 0;
  for (const std::string& unit : rtl_names()) {
    for (unsigned fault = 2; fault <= (full ? 8 : 2); fault += 3) {
      options o;
      o.requests = 3000;
      o.seed = 4;
      o.instrumented = true;
      o.fault = fault;
      const item_stream s = make_bench(unit)->generate(o);
      const report r = run_isolated(unit, s, o);
      if (r.ok()) continue;  // found in longer streams only
      ++found;
      const evidence e = keep_evidence(unit, s, r, o, folder);
      EXPECT_EQ(reason_of(e.again.problem), reason_of(r.problem)) << unit << " fault " << fault;
      EXPECT_LT(e.again.first_difference, e.items) << unit << " fault " << fault << ": " << e.again.problem;
      std::string of;
      options read;
      const item_stream least = read_stream(e.stream_file, of, read);
      read.instrumented = true;
      EXPECT_EQ(run_isolated(of, least, read).problem, e.again.problem) << unit << " fault " << fault;
    }
  }
  EXPECT_GE(found, full ? 8U : 3U);
  std::filesystem::remove_all(folder);
}

TEST(lockstep, reasons_have_no_numbers) {
  EXPECT_EQ(reason_of("item 7, cycle 12, 30 ns: answers differ in bytes: model 1 2, rtl 3"),
            "answers differ in bytes: model # #, rtl #");
  EXPECT_EQ(reason_of("a read of 0x820daafc, rtl none"), "a read of #, rtl none");
  EXPECT_EQ(reason_of("the run was ended by signal 11"), "the run was ended by signal #");
  EXPECT_EQ(reason_of("item 7: rtl (x), 5 ns, cycle 2: assertion 'x.u2.a_7, x.sv:12' failed: 17 of 18"),
            "rtl (x), # ns, cycle #: assertion 'x.u2.a_7, x.sv:12' failed: # of #")
      << "a name keeps its numbers";
  EXPECT_EQ(reason_of("answers differ in the entry: model [qpc: pd 0x1 msn 0x2], rtl [qpc: pd 0x3]"),
            reason_of("answers differ in the entry: model [qpc: msn 0x2], rtl [qpc: msn 0x3]"))
      << "fields of entries differ from run to run";
}

// Reports a stream of one item with equal answers, and the given traffic.
report with_traffic(mode how, const std::function<void(comparison&)>& traffic) {
  comparison c(item_stream(1), clock_domain(frequency{400e6}), true, how);
  c.answered(model_side, 0, {}, ps(0), ps(10));
  c.answered(rtl_side, 0, {}, ps(0), ps(10));
  traffic(c);
  return c.finish();
}

TEST(lockstep, memory_accesses_are_compared) {
  const std::byte one[1]{std::byte{1}};
  const std::byte two[1]{std::byte{2}};
  EXPECT_EQ(with_traffic(mode::single,
                         [&](comparison& c) {
                           c.moved(model_side, 64, true, one, 1);
                           c.moved(model_side, 128, false);
                           c.moved(rtl_side, 128, false);
                           c.moved(rtl_side, 64, true, one, 1);
                         })
                .problem,
            "")
      << "the order of different addresses";
  const report bytes = with_traffic(mode::single, [&](comparison& c) {
    c.moved(model_side, 64, true, one, 1);
    c.moved(rtl_side, 64, true, two, 1);
  });
  EXPECT_EQ(bytes.problem,
            "access to memory: model a write to 0x40, rtl a write to 0x40 with other bytes (1 by the model, 1 by the rtl)");
  EXPECT_EQ(bytes.differences, 1U);
  EXPECT_NE(with_traffic(mode::full,
                         [&](comparison& c) {
                           c.moved(model_side, 64, true, one, 1);
                           c.moved(model_side, 64, false);
                           c.moved(rtl_side, 64, false);
                           c.moved(rtl_side, 64, true, one, 1);
                         })
                .problem,
            "")
      << "the order of one address";
  EXPECT_EQ(with_traffic(mode::full, [&](comparison& c) { c.moved(rtl_side, 64, false); }).problem,
            "access to memory: model none, rtl a read of 0x40 (0 by the model, 1 by the rtl)");
  const auto random = [](unsigned of_rtl) {
    return with_traffic(mode::random,
                        [&](comparison& c) {
                          for (unsigned i = 0; i < 2000; ++i) c.moved(model_side, i, false);
                          for (unsigned i = 0; i < of_rtl; ++i) c.moved(rtl_side, i, false);
                        })
        .problem;
  };
  EXPECT_EQ(random(2060), "");
  EXPECT_EQ(random(2061), "access to memory: 2000 by the model, 2061 by the rtl");
}

class counting_unit : public unit {
 public:
  counting_unit(const char* name, std::uint64_t n) : unit(name) {
    stats_.add("things", "1", "things", things_);
    things_ += n;
  }

 private:
  counter things_;
};

TEST(lockstep, equal_counters_are_compared) {
  const counting_unit model("model", 1000);
  const counting_unit near("near", 1100);
  const counting_unit far("far", 1101);
  const auto problem_of = [&](mode how, const unit& rtl) {
    return with_traffic(how, [&](comparison& c) { c.counted(model, rtl); }).problem;
  };
  EXPECT_EQ(problem_of(mode::single, model), "");
  EXPECT_EQ(problem_of(mode::full, near), "statistic things: 1000 of the model, 1100 of the rtl");
  EXPECT_EQ(problem_of(mode::random, near), "");
  EXPECT_EQ(problem_of(mode::random, far), "statistic things: 1000 of the model, 1101 of the rtl");
}

TEST(lockstep, messages_to_other_units_are_compared) {
  const std::byte one[1]{std::byte{1}};
  const std::byte two[1]{std::byte{2}};
  const auto problem_of = [&](std::initializer_list<const std::byte*> of_model,
                              std::initializer_list<const std::byte*> of_rtl) {
    return with_traffic(mode::full,
                        [&](comparison& c) {
                          for (const std::byte* b : of_model) c.sent(model_side, 7, b, 1);
                          for (const std::byte* b : of_rtl) c.sent(rtl_side, 7, b, 1);
                        })
        .problem;
  };
  EXPECT_EQ(problem_of({one, two}, {one, two}), "");
  EXPECT_NE(problem_of({one, two}, {two, one}), "") << "the order of one queue";
  EXPECT_EQ(problem_of({one, two}, {one}),
            "messages passed on: model a message for 0x7, rtl none (2 by the model, 1 by the rtl)");
}

TEST(lockstep, a_bad_stream_file_is_refused_with_its_place) {
  const std::string file = ::testing::TempDir() + "bad.stream";
  std::string unit;
  options o;
  const auto error_of = [&](const char* text) {
    std::ofstream(file) << text;
    try {
      read_stream(file, unit, o);
    } catch (const std::exception& e) {
      return std::string(e.what()).substr(file.size());
    }
    return std::string("none");
  };
  EXPECT_EQ(error_of("hello\n"), ":1: not a stream: 'lockstep UNIT mode MODE seed N stall P fault N' is expected");
  EXPECT_EQ(error_of("lockstep key_check mode odd seed 1 stall 0 fault 0\n"), ":1: there is no mode 'odd'");
  EXPECT_EQ(error_of("lockstep key_check mode full seed 1 stall 0 fault 0\n1 2 3\n"), ":2: 10 words are expected");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace hcasim::lockstep
