// The bounds in time: each is judged, in cycles, and a stall without a reason ends a run.
#include "testbenches/coverification/lockstep/bounds.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "rtl/key_check_design.h"
#include "testbenches/coverification/lockstep/program.h"

namespace hcasim::lockstep {
namespace {

report right(std::uint64_t requests) {
  report r;
  r.requests = r.exact = requests;
  r.model_cycles = r.rtl_cycles = 1e6;
  r.mean_latency = 1000;
  return r;
}
options random_without_stalls() {
  options o;
  o.stall = 0;
  return o;
}

TEST(bounds, single_and_full_streams_are_equal_to_the_cycle) {
  report r = right(100);
  r.exact = 99;
  r.worst = 7;
  r.max_error = 3;
  options o;
  o.how = mode::full;
  EXPECT_EQ(out_of_bounds(r, o, {}), "1 of 100 latencies differ, item 7 by 3 cycles");
  EXPECT_EQ(out_of_bounds(r, o, {.apart = 3}), "") << "RTL that takes its own time";
  EXPECT_EQ(out_of_bounds(r, o, {.apart = 2}), "1 of 100 latencies differ, item 7 by 3 cycles, 2 are allowed");
  r.rtl_cycles = 1'020'000;
  EXPECT_EQ(out_of_bounds(r, o, {.apart = 3}), "the RTL takes 2 % more cycles, 1 % are allowed");
}

// A slow memory of the bench makes no error smaller.
TEST(bounds, errors_are_in_cycles) {
  report r = right(100'000);
  const options o = random_without_stalls();
  EXPECT_EQ(out_of_bounds(r, o, {}), "");
  r.mean_error = 1.1;
  EXPECT_NE(out_of_bounds(r, o, {}).find("latencies differ by 1.1 cycles on the average, 1.005 are allowed"),
            std::string::npos);
  EXPECT_EQ(out_of_bounds(r, o, {.mean = 2}), "");
  r.mean_error = 0;
  r.p99_error = 20;
  EXPECT_EQ(out_of_bounds(r, o, {}), "one latency in a hundred differs by 20 cycles or more, 16 are allowed");
  r.p99_error = 0;
  r.rtl_cycles = 1'011'000;
  EXPECT_NE(out_of_bounds(r, o, {}).find("the RTL takes 11000 more cycles"), std::string::npos);
  r.rtl_cycles = 1e6;
  r.mean_error = 90;
  EXPECT_NE(out_of_bounds(r, o, {}), "");
  options storms = o;
  storms.storms = true;
  EXPECT_EQ(out_of_bounds(r, storms, {}), "");
}

// Errors in both directions are requests that overtake each other. Errors in one direction are a fault.
TEST(bounds, requests_that_are_late_alone_fail) {
  report r = right(100'000);
  const options o = random_without_stalls();
  r.errors = {{-40, 900}, {0, 98'200}, {40, 900}};
  EXPECT_EQ(late_share(r), 0);
  EXPECT_EQ(out_of_bounds(r, o, {}), "");
  r.errors = {{-40, 100}, {0, 98'800}, {16, 100}, {17, 700}};
  EXPECT_EQ(out_of_bounds(r, o, {}),
            "0.6 % of the requests are more than 16 cycles later, minus the share as much earlier; 0.564 % are allowed");
}

// Stalls let other requests meet, and one request out of turn may be most of a short stream.
TEST(bounds, allow_for_stalls_and_short_streams) {
  report r = right(100'000);
  r.mean_error = 3;
  options o = random_without_stalls();
  EXPECT_NE(out_of_bounds(r, o, {}), "");
  o.stall = 0.6;
  EXPECT_EQ(out_of_bounds(r, o, {}), "");
  o.stall = 0;
  r.requests = 200;
  EXPECT_EQ(out_of_bounds(r, o, {}), "");
}

int run_program(const std::vector<std::string>& arguments, rtl::design_factory make, const char* unit, std::string& said) {
  std::vector<std::string> all{"program"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& a : all) argv.push_back(a.data());
  ::testing::internal::CaptureStdout();
  const int status = program(static_cast<int>(argv.size()), argv.data(), unit, make);
  said = ::testing::internal::GetCapturedStdout();
  return status;
}

// A user's own program holds the bounds by default, and options may change them.
TEST(bounds, hold_in_every_program) {
  std::string said;
  EXPECT_EQ(run_program({"--requests", "2000"}, rtl::make_key_check_design, "key_check", said), 0) << said;
  EXPECT_EQ(run_program({"--requests", "2000", "--max-error", "0.001"}, rtl::make_key_check_design, "key_check", said), 1);
  EXPECT_NE(said.find("cycles on the average"), std::string::npos) << said;
  EXPECT_EQ(run_program({"--help"}, rtl::make_key_check_design, "key_check", said), 0);
  for (const char* name : {"--max-apart", "--max-error", "--max-p99", "--max-late", "--max-rate", "--max-wait"})
    EXPECT_NE(said.find(name), std::string::npos) << said;
  EXPECT_EQ(run_program({"--max-late", "few"}, rtl::make_key_check_design, "key_check", said), 2);
}

}  // namespace
}  // namespace hcasim::lockstep
