// rdma-core's own tests of the verbs, on the simulated adapter: every one passes, or is skipped for a reason that is on the
// list.
#include <sstream>
#include <vector>

#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

namespace fs = std::filesystem;
constexpr const char* tests_of_rdma_core = "/usr/share/doc/rdma-core/tests";
constexpr const char* python = "/usr/bin/python3";

using fields = std::vector<std::string>;

std::vector<fields> lines_of(const char* kind) {
  std::ifstream file(fs::path(places::source) / "testbenches/verbs_programs/pyverbs.txt");
  std::vector<fields> out;
  for (std::string line; std::getline(file, line);) {
    fields f;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, ';');) {
      const std::size_t a = part.find_first_not_of(' ');
      f.push_back(a == std::string::npos ? "" : part.substr(a, part.find_last_not_of(' ') - a + 1));
    }
    if (f.size() == 3 && f[0] == kind) out.push_back(f);
  }
  return out;
}

bool allowed(const std::string& line) {
  for (const fields& f : lines_of("skip")) {
    if (line.find(f[1]) != std::string::npos && line.find(f[2]) != std::string::npos) return true;
  }
  return false;
}

std::string why_not() {
  if (std::string why = obstacle(python); !why.empty()) return why;
  if (std::system(fmt::format("{} -c 'import pyverbs.device' >/dev/null 2>&1", python).c_str()) != 0) {
    return "python3-pyverbs is not installed";
  }
  return fs::exists(tests_of_rdma_core) ? "" : fmt::format("rdma-core's tests are not in {}", tests_of_rdma_core);
}

class pyverbs : public ::testing::TestWithParam<fields> {};

TEST_P(pyverbs, passes_except_for_known_failures) {
  if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string script = fs::path(places::source) / "testbenches/verbs_programs/testing/run_pyverbs.py";
  std::string words = fmt::format("-- {} {} {} {}", python, script, tests_of_rdma_core, GetParam()[1]);
  for (const fields& f : lines_of("out")) words += " " + f[1];
  const outcome first = exec(folder / "a", words, "--set nodes=1");
  EXPECT_EQ(first.status, 0) << first.text;
  std::istringstream lines(file_content(folder / "a/program0.txt"));
  int passed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with("... ok")) ++passed;
    if (line.find("... skipped") == std::string::npos) continue;
    EXPECT_TRUE(allowed(line)) << line;
  }
  EXPECT_GE(passed, std::stoi(GetParam()[2])) << first.text;
  EXPECT_EQ(figure(folder / "a", "unproven_spins"), 0);
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
  ASSERT_EQ(exec(folder / "b", words, "--set nodes=1").status, 0);
  EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json"));
}

INSTANTIATE_TEST_SUITE_P(modules, pyverbs, ::testing::ValuesIn(lines_of("module")),
                         [](const ::testing::TestParamInfo<fields>& i) { return i.param[1]; });

}  // namespace
}  // namespace hcasim::applications
