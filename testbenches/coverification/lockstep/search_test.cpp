// The search for the shortest stream: its limits, and its messages.
#include "testbenches/coverification/lockstep/search.h"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "rtl/key_check_faulty.h"
#include "testbenches/coverification/lockstep/program.h"
#include "tlm/base/send_signal.h"

namespace hcasim::lockstep {
namespace {

using host_clock = std::chrono::steady_clock;

double seconds_since(host_clock::time_point begin) {
  return std::chrono::duration<double>(host_clock::now() - begin).count();
}

std::unique_ptr<rtl::design> make_wrong(unsigned random_reset) {
  std::unique_ptr<rtl::design> d = rtl::make_key_check_faulty(random_reset);
  d->eval();  // sets initial values, and the number of the fault
  d->mutate(1);
  d->assertions(false);
  return d;
}

// Makes a design as slow as a large one, so that a search does not end by itself.
std::unique_ptr<rtl::design> make_slow(unsigned random_reset) {
  ::usleep(150'000);
  return make_wrong(random_reset);
}

options slow() {
  options o;
  o.requests = 2000;
  o.design = make_slow;
  return o;
}

TEST(search, ends_with_the_shortest_so_far_when_its_time_is_over) {
  const options o = slow();
  const item_stream s = make_bench("key_check")->generate(o);
  const auto begin = host_clock::now();
  const shortened least = shortest("key_check", s, o, 0.4);
  EXPECT_LT(seconds_since(begin), 4.0);
  EXPECT_EQ(least.cut_short, "the time of the search is over");
  EXPECT_FALSE(run_isolated("key_check", least.stream, o).ok());
}

// Ctrl-C ends the search and not the process.
TEST(search, ends_with_the_shortest_so_far_at_a_signal) {
  const options o = slow();
  const item_stream s = make_bench("key_check")->generate(o);
  for (const int number : {SIGINT, SIGTERM}) {
    const pid_t other = ::fork();
    if (other == 0) {
      ::usleep(400'000);
      signal_process(::getppid(), number);
      ::_exit(0);
    }
    const auto begin = host_clock::now();
    const shortened least = shortest("key_check", s, o, 600);
    EXPECT_EQ(least.cut_short, "the search was stopped by a signal");
    EXPECT_GT(seconds_since(begin), 0.2);
    EXPECT_LT(seconds_since(begin), 4.0);
    ::waitpid(other, nullptr, 0);
    EXPECT_FALSE(run_isolated("key_check", least.stream, o).ok());
  }
}

// A user's own program prints the difference at once, then the begin of a search, then its result.
TEST(search, begins_when_the_difference_has_been_told) {
  const std::string folder = ::testing::TempDir() + "search" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::string arguments[] = {"program", "--requests", "3000", "--search-seconds", "0", "--out", folder};
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(program(static_cast<int>(argv.size()), argv.data(), "key_check", make_wrong), 1);
  const std::string said = ::testing::internal::GetCapturedStdout();
  const std::size_t way = said.find("\nkey_check_faulty runs as a whole: the design has WAVES\n");
  EXPECT_EQ(said.rfind("runs as a whole"), said.find("runs as a whole")) << "once";
  const std::size_t difference = said.find("answers differ in ", way);
  const std::size_t begins = said.find("looking for the shortest part of these ", difference);
  const std::size_t over = said.find("the time of the search is over", begins);
  EXPECT_NE(said.find(" items are enough (" + folder, over), std::string::npos) << said;
  std::filesystem::remove_all(folder);
}

int begun = -1;  // end of a pipe
// Reports the begin of a run, and waits.
std::unique_ptr<rtl::design> make_waiting(unsigned) {
  if (::write(begun, "b", 1) == 1) ::sleep(20);
  ::_exit(1);
}

TEST(search, a_run_ends_with_the_process_that_waits_for_it) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t waits = ::fork();
  if (waits == 0) {
    begun = ends[1];
    options o = slow();
    o.design = make_waiting;
    run_isolated("key_check", make_bench("key_check")->generate(o), o);
    ::_exit(0);
  }
  ::close(ends[1]);
  char c = 0;
  ASSERT_EQ(::read(ends[0], &c, 1), 1);
  signal_process(waits, SIGKILL);
  ::waitpid(waits, nullptr, 0);
  const auto begin = host_clock::now();
  EXPECT_EQ(::read(ends[0], &c, 1), 0);
  EXPECT_LT(seconds_since(begin), 10.0) << "the run goes on";
  ::close(ends[0]);
}

// A call of exit() in a run is the problem of that run.
TEST(search, a_run_that_ends_its_process_is_no_success) {
  options o;
  o.requests = 100;
  o.design = [](unsigned) -> std::unique_ptr<rtl::design> { std::exit(0); };
  const report r = run_isolated("key_check", make_bench("key_check")->generate(o), o);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.problem.find("an RTL design is made: the process was ended by exit()"), 0U) << r.problem;
}

}  // namespace
}  // namespace hcasim::lockstep
