// Verbs programs of the machine, run twice: the output is as expected, and both runs are equal.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <sstream>
#include <vector>

#include "testbenches/verbs_programs/testing/run_programs.h"
#include "tlm/base/send_signal.h"

namespace hcasim::applications {
namespace {

namespace fs = std::filesystem;

struct expectation {
  std::string name;
  bool pair = false;
  bool drawn = false;  // process numbers decide more than the PSN
  std::string debian;  // release whose programs it is for; empty = all
  std::string options;
  std::string words;
  std::string line;
};

void PrintTo(const expectation& e, std::ostream* out) {
  *out << e.words;
}

std::string trimmed(const std::string& s) {
  const std::size_t a = s.find_first_not_of(' ');
  return a == std::string::npos ? std::string() : s.substr(a, s.find_last_not_of(' ') - a + 1);
}

std::vector<expectation> expectations() {
  std::ifstream file(fs::path(places::source) / "testbenches/verbs_programs/expected.txt");
  std::vector<expectation> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    for (std::size_t at = 0; fields.size() < 4;) {
      const std::size_t end = fields.size() == 3 ? std::string::npos : line.find(';', at);
      fields.push_back(trimmed(line.substr(at, end == std::string::npos ? end : end - at)));
      at = end + 1;
    }
    expectation& e = out.emplace_back(expectation{fields[0], false, false, {}, {}, fields[2], fields[3]});
    std::istringstream how(fields[1]);
    for (std::string word; how >> word;) {
      if (word == "pair") {
        e.pair = true;
      } else if (word == "drawn") {
        e.drawn = true;
      } else if (word.starts_with("debian=")) {
        e.debian = word.substr(word.find('=') + 1);
      } else if (word != "alone") {
        e.options += word + " ";
      }
    }
    e.words = std::regex_replace(e.words, std::regex("\\{build\\}"), fs::path(places::program).parent_path().string());
  }
  return out;
}

// Masks output that changes with the machine: PSNs drawn from process numbers, printed process numbers, and processor time.
std::string masked(const std::string& text) {
  return std::regex_replace(text, std::regex("PSN (0x)?[0-9a-f]+|PSN *: *0x[0-9a-f]+|pid=[0-9]+|cpu +: usr=.*"), "own");
}

// Returns the words that run a program in a namespace of its own, where process numbers repeat. Empty = the system refuses.
const std::string& numbered_alike() {
  static const std::string prefix = [] {
    // The second form is for root in a changed root folder.
    for (const std::string words :
         {"unshare --map-root-user --pid --fork --mount-proc ", "unshare --pid --fork --mount-proc "}) {
      if (std::system((words + "true >/dev/null 2>&1").c_str()) == 0) return words;
    }
    return std::string();
  }();
  return prefix;
}

// Each run has temporary files of its own: mpirun names them by its process number.
outcome exec_alike(const std::string& folder, const std::string& programs, const std::string& options) {
  const std::string temporary = folder + ".tmp";
  fs::create_directories(temporary);
  return run_program(fmt::format("TMPDIR={} {}{}", temporary, numbered_alike(), places::program).c_str(),
                     fmt::format("exec -o {} --force --no-trace {} {}", folder, options, programs));
}

// Returns the command line: the two programs of a pair differ only in the address, or stand apart in `words`.
std::string command_line(const expectation& e) {
  const std::size_t apart = e.words.find(" || ");
  if (apart != std::string::npos) return fmt::format("-- {} -- {}", e.words.substr(0, apart), e.words.substr(apart + 4));
  return fmt::format("-- {}{}", e.words, e.pair ? fmt::format(" -- {} node0", e.words) : "");
}

// Returns the programs that a case needs: its first word after any variables, and programs built for these tests.
std::vector<std::string> programs_of(const expectation& e) {
  std::istringstream words(e.words);
  std::vector<std::string> out;
  for (std::string word; words >> word;) {
    const bool first = out.empty() && word != "env" && word.find('=') == std::string::npos;
    if (first || word.find("/hcasim_") != std::string::npos) out.push_back(word);
  }
  return out;
}

// Returns the expression with each {A|B...} in the form for this system.
std::string for_this_system(const std::string& pattern) {
  static const std::regex either("\\{([^{}|]*)([|][^{}]*)\\}");
  return std::regex_replace(pattern, either, numbered_alike().empty() ? "($1$2)" : "$1");
}

bool has_line(const std::string& text, const std::string& pattern) {
  const std::regex wanted(for_this_system(pattern), std::regex::extended);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(std::regex_replace(line, std::regex("[ \t]+"), " "));
    if (std::regex_search(line, wanted)) return true;
  }
  return false;
}

// Returns the release of this Debian; empty = another system.
std::string debian_release() {
  const std::string system = file_content("/etc/os-release");
  std::smatch found;
  if (system.find("ID=debian\n") == std::string::npos) return {};
  return std::regex_search(system, found, std::regex("VERSION_ID=\"([0-9]+)")) ? found[1].str() : std::string();
}

class programs : public ::testing::TestWithParam<expectation> {};

TEST_P(programs, print_what_is_expected_and_the_same_again) {
  const expectation& e = GetParam();
  if (!e.debian.empty() && e.debian != debian_release()) GTEST_SKIP() << "it expects the program of Debian " << e.debian;
  for (const std::string& p : programs_of(e)) {
    if (const std::string why = obstacle(p); !why.empty()) GTEST_SKIP() << why;
  }
  const scratch folder;
  const std::string words = command_line(e);
  const outcome first = e.drawn ? exec_alike(folder / "a", words, e.options) : exec(folder / "a", words, e.options);
  ASSERT_EQ(first.status, 0) << first.text;
  ASSERT_EQ((e.drawn ? exec_alike(folder / "b", words, e.options) : exec(folder / "b", words, e.options)).status, 0);
  const std::string printed = file_content(folder / (e.pair ? "a/program1.txt" : "a/program0.txt"));
  EXPECT_TRUE(has_line(printed, e.line)) << "wanted: " << e.line << "\n" << printed;
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
  EXPECT_EQ(figure(folder / "a", "unproven_spins"), 0);
  if (e.drawn && numbered_alike().empty()) return;
  EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json"));
  for (const char* file : {"program0.txt", "program1.txt"}) {
    EXPECT_EQ(masked(file_content(folder / (std::string("a/") + file))),
              masked(file_content(folder / (std::string("b/") + file))));
  }
}

// Returns column `i` of the client's table of results.
double result_of(const std::string& folder, std::size_t i) {
  std::istringstream lines(file_content(folder + "/program1.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> numbers;
    for (double x = 0; words >> x;) numbers.push_back(x);
    if (numbers.size() >= 4) return numbers.at(i);
  }
  ADD_FAILURE() << "the client printed no result";
  return 0;
}

// Results are the same to the last byte while other processes compute on the machine's cores. The programs poll memory, or
// sleep. Slow threads are probed with signals, which must not disturb a program.
class on_a_busy_machine : public ::testing::TestWithParam<const char*> {};

TEST_P(on_a_busy_machine, results_do_not_change) {
  if (const std::string why = obstacle("ib_write_lat"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  std::vector<pid_t> busy;
  for (int i = 0; i < 6; ++i) {
    const pid_t p = ::fork();
    if (p == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile unsigned n = 0;;) n = n + 1;
    }
    busy.push_back(p);
  }
  const int runs = std::getenv("HCASIM_FULL") ? 4 : 2;
  for (int i = 0; i < runs; ++i) {
    const std::string program = GetParam();
    EXPECT_EQ(exec(folder / std::to_string(i), fmt::format("-- {0} -- {0} node0", program)).status, 0);
    EXPECT_EQ(figure(folder / std::to_string(i), "unknown_waits"), 0);
  }
  for (const pid_t p : busy) {
    signal_process(p, SIGKILL);
    ::waitpid(p, nullptr, 0);
  }
  for (int i = 1; i < runs; ++i) {
    EXPECT_EQ(file_content(folder / "0/result.json"), file_content(folder / (std::to_string(i) + "/result.json")));
    EXPECT_EQ(file_content(folder / "0/statistics.txt"), file_content(folder / (std::to_string(i) + "/statistics.txt")));
  }
}

INSTANTIATE_TEST_SUITE_P(applications, on_a_busy_machine, ::testing::Values("ib_write_lat -F -n 200", "ibv_rc_pingpong -e"),
                         [](const auto& i) { return std::string(i.param).substr(0, std::string(i.param).find(' ')); });

// A WRITE between programs that wait in memory takes less time than the WRITE of `ping`, which includes completion and polling.
TEST(applications, latency_is_that_of_the_units) {
  if (const std::string why = obstacle("ib_write_lat"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words = "-- ib_write_lat -F -s 8 -n 100 -- ib_write_lat -F -s 8 -n 100 node0";
  ASSERT_EQ(exec(folder / "programs", words).status, 0);
  ASSERT_EQ(run_program(places::program, fmt::format("run ping --size 8B --no-trace -o {}", folder / "ping")).status, 0);
  const auto ping = nlohmann::json::parse(file_content(folder / "ping/result.json"));
  const double there_and_back = ping["figures"]["WRITE"]["value"];
  const double one_way = 1000 * result_of(folder / "programs", 4);
  EXPECT_LT(one_way, there_and_back);
  EXPECT_GT(one_way, there_and_back / 2);
}

// Each packet of 4122 B carries 4096 B of data. The rest is 12 B of headers (the first packet has 16 B more), 6 B of checks and
// 8 B of local route.
TEST(applications, bandwidth_is_the_links_closed_form) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words = "-- ib_write_bw -F -s 1048576 -n 200 -- ib_write_bw -F -s 1048576 -n 200 node0";
  ASSERT_EQ(exec(folder / "programs", words).status, 0);
  constexpr double mib_per_second = 100e9 / 8 / 1048576;
  EXPECT_NEAR(result_of(folder / "programs", 3), mib_per_second * 4096 / 4122, 0.01 * mib_per_second);
}

// No transport exceeds the link's bandwidth, with few or many messages.
TEST(applications, no_bandwidth_is_more_than_the_links) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  constexpr double mib_per_second = 100e9 / 8 / 1048576;
  for (const char* how : {"ib_write_bw -F -c UC -n 5", "ib_write_bw -F -c UC -n 1000", "ib_send_bw -F -c UC -n 300",
                          "ib_send_bw -F -c UD -s 4096 -n 20", "ib_send_bw -F -c UD -s 4096 -n 1000"}) {
    ASSERT_EQ(exec(folder / "a", fmt::format("-- {} -- {} node0", how, how)).status, 0);
    for (const std::size_t column : {2U, 3U}) EXPECT_LT(result_of(folder / "a", column), mib_per_second * 4096 / 4122) << how;
  }
}

// The output of perftest is in the result.
TEST(applications, a_printed_table_is_a_metric) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  ASSERT_EQ(exec(folder / "a", "-- ib_write_bw -F -n 20 -- ib_write_bw -F -n 20 node0").status, 0);
  EXPECT_EQ(figure(folder / "a", "program1.bw_average"), result_of(folder / "a", 3));
  EXPECT_EQ(figure(folder / "a", "program1.iterations"), 20);
}

// Sixteen programs on a switch, each pair at its own pace: two runs are equal.
TEST(applications, eight_pairs_at_once) {
  if (const std::string why = obstacle("ib_write_lat"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  std::string words;
  for (int i = 0; i < 8; ++i) {
    const char* const what = i % 2 ? "ib_send_bw -F -s 4096 -n 50" : "ib_write_lat -F -n 50";
    words += fmt::format("-- {} -- {} node{} ", what, what, 2 * i);
  }
  ASSERT_EQ(exec(folder / "a", words).status, 0);
  ASSERT_EQ(exec(folder / "b", words).status, 0);
  EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json"));
  EXPECT_EQ(figure(folder / "a", "unproven_spins"), 0);
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(figure(folder / "a", fmt::format("program{}.iterations", 2 * i + 1).c_str()), 50);
}

// The knobs of the adapter reach the programs.
TEST(applications, a_small_cache_makes_latency_rise) {
  if (const std::string why = obstacle("ib_read_lat"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words = "-- ib_read_lat -F -n 100 -- ib_read_lat -F -n 100 node0";
  ASSERT_EQ(exec(folder / "a", words).status, 0);
  ASSERT_EQ(exec(folder / "b", words, "--set node*.host.memory_read_latency=500ns").status, 0);
  EXPECT_GT(result_of(folder / "b", 4), result_of(folder / "a", 4) + 0.3);
}

// perftest counts its second by the simulated clock, and a timer ends it.
TEST(applications, a_test_of_one_second_takes_a_second_of_simulated_time) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words = "-- ib_write_bw -F -D 1 -- ib_write_bw -F -D 1 node0";
  ASSERT_EQ(exec(folder / "a", words, "--set link.rate=1Gb/s").status, 0);
  ASSERT_EQ(exec(folder / "b", words, "--set link.rate=1Gb/s").status, 0);
  constexpr double mib_per_second = 1e9 / 8 / 1048576;
  EXPECT_NEAR(result_of(folder / "a", 3), mib_per_second * 4096 / 4122, 0.01 * mib_per_second);
  EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json"));
  EXPECT_EQ(figure(folder / "a", "unproven_spins"), 0);
}

INSTANTIATE_TEST_SUITE_P(all, programs, ::testing::ValuesIn(expectations()),
                         [](const ::testing::TestParamInfo<expectation>& i) { return i.param.name; });

}  // namespace
}  // namespace hcasim::applications
