// The last act of a thread, process or program wakes its waiters at their simulated time.
#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

namespace fs = std::filesystem;

struct act {
  const char* sleeps;
  const char* by;
  long after;  // ns
};
void PrintTo(const act& a, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << a.sleeps << " by " << a.by;
}

class last_act : public ::testing::TestWithParam<act> {};

// The child acts at 1 ms; `out_of_band` later the sleeper goes on. A look at the clock takes 25 ns.
TEST_P(last_act, wakes_its_waiter) {
  if (const std::string why = obstacle("ibv_devices"); !why.empty()) GTEST_SKIP() << why;
  const std::string program = fs::path(places::program).parent_path() / "hcasim_misuse";
  if (!fs::exists(program)) GTEST_SKIP() << "the program of these tests was not built: libibverbs-dev is missing";
  const act& a = GetParam();
  const scratch folder;
  const outcome o = exec(folder / "a", fmt::format("-- {} wake {} {}", program, a.sleeps, a.by));
  const std::string printed = file_content(folder / "a/program0.txt");
  EXPECT_EQ(o.status, 0) << printed << o.text;
  EXPECT_NE(printed.find(fmt::format("{} by {} after {} ns\n", a.sleeps, a.by, a.after)), std::string::npos) << printed;
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
}

INSTANTIATE_TEST_SUITE_P(all, last_act,
                         ::testing::Values(act{"poll", "write", 1'005'000}, act{"poll", "close", 1'005'000},
                                           act{"ppoll", "exec", 1'005'000}, act{"select", "outsider", 1'005'000},
                                           act{"poll", "spawn", 1'005'000}, act{"epoll", "write", 1'005'000},
                                           act{"epoll", "kill", 1'005'000}, act{"receive", "close", 1'005'000},
                                           act{"alarm", "write", 1'005'025}, act{"sigtimedwait", "write", 1'005'000},
                                           act{"sigsuspend", "close", 1'005'025}, act{"signalfd", "close", 1'005'000},
                                           act{"sleep", "kill", 1'005'000}, act{"look", "close", 1'001'325},
                                           act{"yield", "close", 1'000'050}, act{"memory", "close", 1'000'094},
                                           act{"semaphore", "close", 1'000'025}, act{"thread", "close", 1'000'025},
                                           act{"message", "message", 1'000'050}, act{"operation", "operation", 1'000'025},
                                           act{"interrupted", "close", 1'000'000}, act{"queue", "queue", 1'005'025}),
                         [](const auto& i) { return fmt::format("{}_by_{}", i.param.sleeps, i.param.by); });

// The last message must end the peer's wait, not perftest's alarm after a minute.
TEST(applications, the_last_message_of_a_program_ends_its_peer) {
  if (const std::string why = obstacle("ib_send_bw"); !why.empty()) GTEST_SKIP() << why;
  for (const char* words : {"ib_send_bw -F -n 100 -b", "ib_send_bw -F -n 100 -e", "ib_send_bw -F -n 100 -r 1 -t 1"}) {
    const scratch folder;
    for (const char* run : {"a", "b"}) {
      ASSERT_EQ(exec(folder / run, fmt::format("-- {} -- {} node0", words, words)).status, 0) << words;
    }
    EXPECT_LT(simulated_seconds(folder / "a"), 1) << words;
    EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json")) << words;
    EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
  }
}

// `timeout` around a program changes nothing if the program ends in time, and otherwise ends the program at its limit.
TEST(applications, a_program_that_is_given_a_second) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words = "ib_write_bw -F -n 100";
  ASSERT_EQ(exec(folder / "a", fmt::format("-- timeout 60 {0} -- timeout 60 {0} node0", words)).status, 0);
  ASSERT_EQ(exec(folder / "b", fmt::format("-- {0} -- {0} node0", words)).status, 0);
  EXPECT_EQ(figure(folder / "a", "program1.bw_average"), figure(folder / "b", "program1.bw_average"));
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
  EXPECT_LT(simulated_seconds(folder / "a"), 2) << "perftest sleeps for one";
  for (const char* run : {"c", "d"}) {
    ASSERT_EQ(exec(folder / run, "-- timeout 1 sh -c 'ibv_devices; sleep 100'", "--param program0.expect=124").status, 0);
    EXPECT_GE(simulated_seconds(folder / run), 1);
    EXPECT_LT(simulated_seconds(folder / run), 1.001);
    EXPECT_EQ(figure(folder / run, "unknown_waits"), 0);
  }
  EXPECT_EQ(file_content(folder / "c/result.json"), file_content(folder / "d/result.json"));
}

}  // namespace
}  // namespace hcasim::applications
