// The symbols that the preload library exports, and the C library's calls among them.
#include <sstream>

#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

namespace fs = std::filesystem;

std::string library() {
  return fs::path(places::program).parent_path() / "libhcasim_verbs.so";
}

// The library exports functions of C only: its C++ symbols would take the place of the program's own.
TEST(library, shows_functions_of_c_alone) {
  if (!fs::exists(library())) GTEST_SKIP() << "the library was not built: libibverbs-dev is missing";
  const outcome o = run_program("nm", "-D --defined-only " + library());
  ASSERT_EQ(o.status, 0) << o.text;
  std::istringstream lines(o.text);
  std::size_t shown = 0;
  for (std::string line; std::getline(lines, line); ++shown) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    EXPECT_EQ(line.substr(17, 1), "T") << line;
    EXPECT_FALSE(name.starts_with("_Z") || name.starts_with("__cxa") || name.starts_with("_Unwind")) << name;
  }
  EXPECT_GT(shown, 200U);
  EXPECT_LT(shown, 400U);
}

// Each call of this machine's C library that sleeps or reads a clock is in the page's table.
TEST(library, knows_each_call_of_the_c_library_that_sleeps) {
  if (!fs::exists(library())) GTEST_SKIP() << "the library was not built: libibverbs-dev is missing";
  const outcome o = run_program((fs::path(places::source) / "scripts/libc_calls").c_str(), library());
  EXPECT_EQ(o.status, 0) << o.text;
}

}  // namespace
}  // namespace hcasim::applications
