// The RTL once more in Icarus Verilog, where registers are X until they are written (icarus.py). Skipped where there is none.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "testbenches/program/places/places.h"

namespace hcasim::lockstep {
namespace {

struct outcome {
  int status;  // 0 = nothing found, 1: something, 77: no Icarus
  std::string text;
};

class icarus : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (std::system("iverilog -V > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no Icarus Verilog (package iverilog)";
    folder_ = ::testing::TempDir() + "icarus_" + GetParam() + "_" + std::to_string(::getpid());  // others may run beside it
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // The pins of the Verilated design while it takes a stream.
  void record(const item_stream& s, options o) {
    o.model = false;
    o.instrumented = true;
    o.vcd = folder_ + "/pins.vcd";
    EXPECT_EQ(run_isolated(GetParam(), s, o).problem, "");
  }
  [[nodiscard]] outcome replay(const std::string& more = "") const {
    const std::string said = folder_ + "/said";
    const std::string command = "python3 -B " + std::string(places::source) +
                                "/testbenches/coverification/lockstep/icarus.py " + places::source + " " + GetParam() + " " +
                                folder_ + "/pins.vcd --work " + folder_ + " " + more + " > " + said;
    const int status = std::system(command.c_str());
    std::stringstream text;
    text << std::ifstream(said).rdbuf();
    return {WEXITSTATUS(status), text.str()};
  }
  static item_stream made(options& o, mode how, std::uint64_t requests, bool storms) {
    o.how = how;
    o.requests = requests;
    o.storms = storms;
    o.seed = 3;
    return make_bench(GetParam())->generate(o);
  }

  static bool full() { return std::getenv("HCASIM_FULL") != nullptr; }
  // The RTL of page_walker has to pass Yosys first.
  static bool takes_long() { return !full() && GetParam() == "page_walker"; }

 private:
  std::string folder_;
};

// With HCASIM_FULL all of it.
TEST_P(icarus, a_stream_of_a_system_run_has_no_unknown_controls) {
  if (takes_long()) GTEST_SKIP() << "takes long; HCASIM_FULL=1 runs it";
  std::string unit;
  options o;
  item_stream s = read_stream(std::string(places::source) + "/traces/streams/" + GetParam() + ".stream", unit, o);
  if (!full()) s.resize(std::min<std::size_t>(s.size(), 400));
  record(s, o);
  const outcome found = replay();
  EXPECT_EQ(found.status, 0) << found.text;
  std::printf("%s: %s", GetParam().c_str(), found.text.c_str());
}

// With HCASIM_FULL longer, and one without storms.
TEST_P(icarus, storms_have_no_unknown_controls) {
  if (takes_long()) GTEST_SKIP() << "takes long; HCASIM_FULL=1 runs it";
  const std::uint64_t requests = full() ? 10'000 : 400;
  for (const bool storms : {true, false}) {
    if (!storms && !full()) continue;
    options o;
    const item_stream s = made(o, mode::random, requests, storms);
    record(s, o);
    const outcome found = replay();
    EXPECT_EQ(found.status, 0) << found.text;
    std::printf("%s: %s", GetParam().c_str(), found.text.c_str());
  }
}

TEST_P(icarus, a_missing_reset_is_found) {
  static const std::map<std::string, std::string> faults{{"doorbell", "doorbell.sv \"      pause <= '0;\""},
                                                         {"key_check", "key_check.sv \"      done_count <= '0;\""},
                                                         {"context_cache", "context_transfers.sv \"      f_busy <= '0;\""},
                                                         {"page_walker", "page_walker.sv \"      walking <= '0;\""}};
  options o;
  const item_stream s = made(o, mode::random, 200, false);
  record(s, o);
  const outcome found = replay("--without " + faults.at(GetParam()));
  EXPECT_EQ(found.status, 1) << found.text;
  EXPECT_NE(found.text.find(" is X"), std::string::npos) << found.text;
}

TEST_P(icarus, a_line_that_is_not_there_is_refused) {
  options o;
  const item_stream s = made(o, mode::random, 200, false);
  record(s, o);
  const outcome found = replay("--without " + GetParam() + ".sv 'no such line'");
  EXPECT_EQ(found.status, 2);
  EXPECT_NE(found.text.find("has 'no such line' 0 times, not once"), std::string::npos) << found.text;
}

INSTANTIATE_TEST_SUITE_P(units, icarus, ::testing::ValuesIn(rtl_names()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace hcasim::lockstep
