// A long run tells how far it is, and ends in order at a signal.
#include <pty.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <regex>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr const char* endless = "run message_rate --messages 1000000000 -o out";

class long_run : public test_in_own_folder {
 protected:
  // Starts the program; `terminal`: it has one.
  void start(const std::string& arguments, bool terminal, const char* term = "xterm") {
    int pipe_ends[2] = {-1, -1};
    if (!terminal) {
      ASSERT_EQ(::pipe(pipe_ends), 0);
    }
    child_ = terminal ? ::forkpty(&output_, nullptr, nullptr, nullptr) : ::fork();
    if (child_ < 0)
      throw std::system_error(errno, std::generic_category(), terminal ? "no pseudo-terminal (/dev/pts)" : "fork");
    if (child_ == 0) {
      for (const int s : {SIGINT, SIGQUIT}) std::signal(s, SIG_DFL);
      if (!terminal) {
        ::dup2(pipe_ends[1], STDOUT_FILENO);
        ::dup2(pipe_ends[1], STDERR_FILENO);
      }
      ::setenv("TERM", term, 1);
      ::execl("/bin/sh", "sh", "-c", fmt::format("exec {} {}", places::program, arguments).c_str(), nullptr);
      ::_exit(99);
    }
    if (terminal) return;
    ::close(pipe_ends[1]);
    output_ = pipe_ends[0];
  }
  // Returns when the run has begun to simulate, and `more` later.
  void wait(std::chrono::milliseconds more) {
    for (int i = 0; i < 1000 && !fs::exists(".out.partial/resolved.yaml"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(more);
  }
  // Sends a signal; returns the status, what the program has said, and how long it took to end.
  struct ending {
    int status = 0;
    std::string text;
    double seconds = 0;
  };
  ending stop(int signal) {
    const clock::time_point begin = clock::now();
    signal_process(child_, signal);
    ending e;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(output_, buffer, sizeof buffer)) > 0;) e.text.append(buffer, static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(child_, &status, 0);
    e.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    e.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    ::close(output_);
    return e;
  }

 private:
  pid_t child_ = -1;
  int output_ = -1;
};

class each_signal : public long_run, public ::testing::WithParamInterface<int> {};

TEST_P(each_signal, ends_a_run_within_a_second_and_keeps_its_results) {
  start(std::string(endless) + " --waves fst", false);
  wait(std::chrono::milliseconds(500));
  const ending e = stop(GetParam());
  EXPECT_EQ(e.status, 128 + GetParam()) << e.text;
  EXPECT_LT(e.seconds, 1.5);
  EXPECT_NE(e.text.find("message_rate: STOPPED"), std::string::npos) << e.text;
  EXPECT_NE(e.text.find(fmt::format("failed: stopped by SIG{} (", sigabbrev_np(GetParam()))), std::string::npos) << e.text;
  const json result = json::parse(file_content("out/result.json"));
  EXPECT_TRUE(result["partial"].get<bool>());
  EXPECT_FALSE(result["passed"].get<bool>());
  EXPECT_GT(result["simulated_ns"].get<double>(), 1000);
  EXPECT_GT(fs::file_size("out/waves.fst"), 1000U);
  EXPECT_FALSE(fs::exists(".out.partial"));
}

INSTANTIATE_TEST_SUITE_P(signals, each_signal, ::testing::Values(SIGHUP, SIGINT, SIGTERM, SIGXCPU),
                         [](const auto& p) { return std::string("SIG") + sigabbrev_np(p.param); });

TEST_F(long_run, shows_on_a_terminal_how_far_it_is) {
  start("run message_rate --messages 3000000 --no-trace -o out", true);
  wait(std::chrono::milliseconds(2500));
  const ending e = stop(SIGINT);
  const std::regex line("\r\x1b\\[Kmessage_rate: [0-9. ]+ m?s simulated, [0-9 ]+ operations, [0-9]+/s, [0-9]+ %, [0-9:]+ left");
  EXPECT_TRUE(std::regex_search(e.text, line)) << e.text;
  EXPECT_NE(e.text.find("\r\x1b[Kmessage_rate: STOPPED"), std::string::npos) << "the line is gone before results come";
}

TEST_F(long_run, is_mute_in_a_pipe_and_on_a_terminal_that_cannot_rewrite_lines) {
  for (const bool terminal : {false, true}) {
    start(std::string(endless) + " --no-trace --force", terminal, "dumb");
    wait(std::chrono::milliseconds(1800));
    EXPECT_EQ(stop(SIGINT).text.find("simulated, "), std::string::npos) << terminal;
  }
}

TEST_F(long_run, tells_lines_when_asked) {
  start(std::string(endless) + " --no-trace -v", false);
  wait(std::chrono::milliseconds(5800));
  const ending e = stop(SIGINT);
  EXPECT_TRUE(std::regex_search(e.text, std::regex("^message_rate: .* simulated, .* operations, .*/s\n"))) << e.text;
}

TEST_F(long_run, is_quiet_or_verbose) {
  EXPECT_EQ(run_program(places::program, "run ping --no-trace -q -v -o x").status, 2);
}

}  // namespace
}  // namespace hcasim
