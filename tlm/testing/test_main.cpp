// Entry point of every test program: each test gets a fresh kernel (one process per test). A SystemC warning or error fails its
// test. HCASIM_ISOLATE=N in the environment: the program itself gives every test its own process, N at a time, and prints only
// the output of failed tests.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tlm/base/reports.h"

namespace {

void report_to_gtest(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
  if (r.get_severity() == sc_core::SC_INFO) return;
  ADD_FAILURE() << "SystemC: " << hcasim::text_of(r);
  if (actions & sc_core::SC_THROW) throw r;
}

std::vector<std::string> all_tests() {
  std::vector<std::string> names;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  return names;
}

int run_one(const std::string& name, FILE* said) {
  dup2(fileno(said), STDOUT_FILENO);
  dup2(fileno(said), STDERR_FILENO);
  testing::GTEST_FLAG(filter) = name;
  const int result = RUN_ALL_TESTS();
  std::fflush(nullptr);
  return result;
}

int run_isolated(std::size_t at_once) {
  struct running {
    std::string name;
    FILE* said;
  };
  std::map<pid_t, running> children;
  std::size_t failed = 0;
  const auto wait_for_one = [&] {
    int status = 0;
    const auto done = children.find(wait(&status));
    if (done == children.end()) return;
    if (status != 0) {
      ++failed;
      std::printf("%s ended with %d\n", done->second.name.c_str(), status);
      std::rewind(done->second.said);
      char text[4096];
      while (const std::size_t n = std::fread(text, 1, sizeof text, done->second.said)) std::fwrite(text, 1, n, stdout);
    }
    std::fclose(done->second.said);
    children.erase(done);
  };
  const std::vector<std::string> names = all_tests();
  for (const std::string& name : names) {
    if (children.size() >= at_once) wait_for_one();
    FILE* const said = std::tmpfile();
    std::fflush(nullptr);
    const pid_t child = said ? fork() : -1;
    if (child < 0) {
      std::perror(name.c_str());
      return 1;
    }
    if (child == 0) _exit(run_one(name, said));
    children[child] = {name, said};
  }
  while (!children.empty()) wait_for_one();
  std::printf("%zu tests, %zu failed\n", names.size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int sc_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sc_core::sc_report_handler::set_handler(report_to_gtest);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ID_NO_SC_START_ACTIVITY_, sc_core::SC_DO_NOTHING);
  if (const char* at_once = std::getenv("HCASIM_ISOLATE"))
    return run_isolated(static_cast<std::size_t>(std::max(std::atoi(at_once), 1)));
  return RUN_ALL_TESTS();
}
