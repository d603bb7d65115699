// An adapter with one check left out, against the hostile peer: the judge, the good traffic or leftovers must reveal it. For a
// check whose absence stays unnoticed, checks.txt gives the reason, which is tested as well.
#include "testbenches/checks/hostile/left_out/left_out.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/kit/world.h"

namespace hcasim {

int left_out_check = 0;

namespace kit {
namespace {

struct check {
  int number;
  const char* name;
  const char* file;
  const char* reason;  // why the hostile peer does not find it
  const char* test;    // an ordinary one that does
};
void PrintTo(const check& c, std::ostream* out) {
  *out << c.name;
}
constexpr check checks[] = {
#include "checks.inc"
};

constexpr std::uint64_t packets = 100'000;
constexpr std::uint64_t few = 8'000;                             // most are found among these already
constexpr std::uint64_t most_seeds = 8;                          // until it is found
const std::uint64_t seeds = std::getenv("HCASIM_FULL") ? 4 : 0;  // seeds for checks that cannot be found missing
constexpr unsigned longest = 60;                                 // seconds, some fifty times the length of a run

std::string verdict_on_a_run(std::uint64_t seed, std::uint64_t packets_sent) {
  system_config config = world::two_nodes();
  for (node_config& n : config.nodes) {  // few, so that they come round
    n.hca.command_unit.log_mrs = 8;
    n.hca.command_unit.log_qps = 5;
  }
  hcasim::system s("system", config);
  hostile_options o;
  o.packets = packets_sent;
  hostile_outcome r;
  start_hostile(s, o, seed, r);
  run_simulation();
  if (r.outside != 0) return "memory: " + r.problem;
  if (r.wrongly_shown + r.misused != 0) return "monitor: " + r.problem;
  if (!r.problem.empty()) return "victim: " + r.problem;
  if (!r.good.problem.empty()) return "good traffic: " + r.good.problem;
  if (!r.good.ok || !r.ok) return "good traffic: it does not come to its end";
  const std::vector<std::string> left = leak_check(s);
  return left.empty() ? "" : "left over: " + left.front();
}

// Returns the finding; empty = none. Runs in a process of its own, since such an adapter may end in any way.
std::string found(int number, std::uint64_t seed, std::uint64_t packets_sent = packets) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    ::alarm(longest);
    left_out_check = number;
    std::string said;
    try {
      said = verdict_on_a_run(seed, packets_sent);
    } catch (const std::exception& e) {
      said = std::string("an exception: ") + e.what();
    }
    said += '\n';
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char bytes[256];
  for (ssize_t n = 0; (n = read(ends[0], bytes, sizeof bytes)) > 0;) said.append(bytes, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return std::string("it ended with signal ") + strsignal(WTERMSIG(status));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

bool ordinary_test_passes(const char* filter, int number) {
  const std::string command = "HCASIM_LEFT_OUT=" + std::to_string(number) + " timeout " + std::to_string(longest) +
                              " " LEFT_OUT_ORDINARY " --gtest_fail_fast --gtest_filter='" + filter + "' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

class left_out : public ::testing::TestWithParam<check> {};

TEST_P(left_out, the_hostile_peer_finds_a_missing_check) {
  const check& c = GetParam();
  std::uint64_t seed = 0;
  std::string by = *c.reason == '\0' ? found(c.number, seed, few) : "";
  while (by.empty() && seed < (*c.reason == '\0' ? most_seeds : seeds)) by = found(c.number, ++seed);
  std::printf("%-40s %s, seed %d\n", c.name, by.empty() ? "not found" : by.c_str(), static_cast<int>(seed));
  if (*c.reason == '\0') {
    EXPECT_NE(by, "") << c.file << ": the hostile peer does not find it";
    return;
  }
  if (*c.test == '\0') {
    if (seeds == 0) GTEST_SKIP() << "nothing is to be found; HCASIM_FULL=1 looks";
    EXPECT_EQ(by, "") << "found, in spite of: " << c.reason;
    return;
  }
  EXPECT_TRUE(ordinary_test_passes(c.test, 0)) << c.test;
  EXPECT_FALSE(ordinary_test_passes(c.test, c.number)) << c.test << " does not find it either";
}

INSTANTIATE_TEST_SUITE_P(check, left_out, ::testing::ValuesIn(checks), [](const auto& i) { return std::string(i.param.name); });

TEST(no_check_left_out, the_hostile_peer_finds_no_fault) {
  for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(1, seeds); ++seed)
    EXPECT_EQ(found(0, seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace kit
}  // namespace hcasim
