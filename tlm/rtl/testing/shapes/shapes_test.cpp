// Ten designs in the shapes of public RTL, attached by lines of hca_add_rtl: traffic without stalls, with stalls of every
// stream, in storms. Faults in the designs are found.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tlm/rtl/testing/shapes/shape.h"

namespace hcasim::rtl::shapes {
namespace {

class every_shape : public ::testing::TestWithParam<shape> {};

run_options options(std::uint64_t seed, double stall, bool storms) {
  run_options o;
  o.shell.seed = seed;
  o.shell.stall = stall;
  o.shell.storms = storms;
  o.shell.check_x = true;
  o.shell.hang_cycles = 3000;
  return o;
}

TEST_P(every_shape, works_without_stalls) {
  EXPECT_EQ(GetParam().run(options(1, 0, false)), "");
}
TEST_P(every_shape, works_with_stalls_of_every_stream) {
  EXPECT_EQ(GetParam().run(options(2, 0.4, false)), "");
}
TEST_P(every_shape, works_in_storms) {
  EXPECT_EQ(GetParam().run(options(3, 0.1, true)), "");
}

TEST_P(every_shape, works_from_registers_at_random) {
  run_options o = options(4, 0.3, false);
  o.shell.check_x = false;
  o.random_registers = true;
  EXPECT_EQ(GetParam().run(o), "");
}

// Runs in a process of its own, since each has one simulation; returns whether the run ended, and was right.
enum class fate { right, wrong, broken };
fate run_apart(const shape& s, const run_options& o) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = s.run(o);
    if (o.mutant == 0 && !said.empty())
      std::fprintf(stderr, "seed %lu: %s\n", static_cast<unsigned long>(o.shell.seed), said.c_str());
    _exit(said.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) > 1 ? fate::broken : WEXITSTATUS(status) == 1 ? fate::wrong : fate::right;
}

// A hundred with HCASIM_FULL.
TEST_P(every_shape, works_with_other_seeds) {
  const std::uint64_t last = std::getenv("HCASIM_FULL") ? 110 : 13;
  for (std::uint64_t seed = 11; seed <= last; ++seed)
    EXPECT_EQ(run_apart(GetParam(), options(seed, 0.1 * static_cast<double>(seed % 7), seed % 2 == 0)), fate::right)
        << "seed " << seed;
}

bool is_found(const shape& s, unsigned mutant) {
  for (const run_options& how : {options(4, 0.3, false), options(5, 0, false), options(6, 0.1, true)}) {
    run_options o = how;
    o.shell.check_x = false;
    o.random_registers = true;
    o.mutant = mutant;
    const fate f = run_apart(s, o);
    EXPECT_NE(f, fate::broken) << "fault " << mutant << " breaks the bench";
    if (f == fate::wrong) return true;
  }
  return false;
}

TEST_P(every_shape, faults_are_found) {
  std::istringstream lines(GetParam().make(0)->list_of_mutants());
  unsigned found = 0;
  unsigned all = 0;
  std::string survivors;
  for (std::string line; std::getline(lines, line); ++all) {
    if (is_found(GetParam(), static_cast<unsigned>(std::stoul(line)))) {
      ++found;
    } else {
      survivors += line + "\n";
    }
  }
  std::printf("%u of %u faults are found; not:\n%s", found, all, survivors.c_str());
  EXPECT_GT(all, 20U);
  EXPECT_GE(found * 100, all * 80);
}

INSTANTIATE_TEST_SUITE_P(shapes, every_shape, ::testing::ValuesIn(all_shapes()),
                         [](const ::testing::TestParamInfo<shape>& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace hcasim::rtl::shapes
