// The whole system against the oracle: random sequences through the verbs API, one order after the other and racing, on roomy
// and on tiny resources, on good and on bad links. A sequence that fails shrinks to a short script, which is printed; run it
// again with
//   HCASIM_KEY_SCRIPT=FILE random_test --gtest_filter=KeyWalk.Replay
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "testbenches/checks/key_walk/key_walk.h"
#include "testbenches/kit/meagre.h"

namespace rc {
template <>
struct Arbitrary<hcasim::testing::key_step> {
  static Gen<hcasim::testing::key_step> arbitrary() {
    using hcasim::testing::key_order;
    const auto order = gen::weightedElement<key_order>({{3, key_order::reg},
                                                        {1, key_order::dereg},
                                                        {1, key_order::rereg},
                                                        {4, key_order::bind_1},
                                                        {4, key_order::bind_2},
                                                        {2, key_order::inv},
                                                        {1, key_order::send_inv},
                                                        {2, key_order::fast},
                                                        {2, key_order::add},
                                                        {1, key_order::remove},
                                                        {20, key_order::access},
                                                        {4, key_order::local},
                                                        {1, key_order::renew}});
    return gen::build<hcasim::testing::key_step>(
        gen::set(&hcasim::testing::key_step::order, order),
        gen::set(&hcasim::testing::key_step::n,
                 gen::container<std::array<std::uint32_t, 6>>(gen::inRange<std::uint32_t>(0, 1 << 16))));
  }
};
}  // namespace rc

namespace hcasim::testing {
namespace {

// SystemC elaborates once in a process, so each walk has one of its own. `seconds`: a system that hangs is a failure too.
walk_result walk_apart(const system_config& config, const std::vector<key_step>& script, const walk_options& o,
                       unsigned seconds = 60) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    ::alarm(seconds);
    const walk_result r = walk(config, script, o);
    std::ostringstream text;
    text << r.granted << ' ' << r.denied << ' ' << r.changes << ' ' << r.refused << ' ' << r.touched << ' ' << r.responses
         << ' ' << r.problem;
    const std::string bytes = text.str();
    const bool written = write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  walk_result r;
  std::istringstream in(text);
  in >> r.granted >> r.denied >> r.changes >> r.refused >> r.touched >> r.responses;
  in.get();
  std::getline(in, r.problem);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) r.problem = "the simulator crashed or did not come to an end";
  return r;
}

// Returns the shortest script that still fails.
std::vector<key_step> shrink(std::vector<key_step> script, const std::function<bool(const std::vector<key_step>&)>& fails) {
  for (std::size_t chunk = script.size() / 2; chunk > 0; chunk /= 2) {
    for (std::size_t at = 0; at + chunk <= script.size();) {
      std::vector<key_step> less = script;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(at), less.begin() + static_cast<std::ptrdiff_t>(at + chunk));
      if (fails(less)) {
        script = std::move(less);
      } else {
        at += chunk;
      }
    }
  }
  return script;
}

// All sequences together must have found everything: granted and denied, done and refused.
void expect_agreement(const system_config& config, int sequences, std::size_t length, bool racing) {
  walk_result all;
  const auto gen = rc::gen::container<std::vector<key_step>>(length, rc::gen::arbitrary<key_step>());
  for (int i = 0; i < sequences; ++i) {
    const std::vector<key_step> script = gen(rc::Random(static_cast<std::uint64_t>(20 + i)), 100).value();
    const walk_options o{.racing = racing, .seed = static_cast<std::uint64_t>(1 + i)};
    const walk_result r = walk_apart(config, script, o);
    all.granted += r.granted;
    all.denied += r.denied;
    all.changes += r.changes;
    all.refused += r.refused;
    all.touched += r.touched;
    all.responses += r.responses;
    if (r.problem.empty()) continue;
    const auto fails = [&](const std::vector<key_step>& s) { return !walk_apart(config, s, o, 10).problem.empty(); };
    FAIL() << r.problem << "\nthe script, as short as it gets:\n" << text_of(shrink(script, fails));
  }
  EXPECT_GT(all.granted, 0U);
  EXPECT_GT(all.denied, 0U);
  EXPECT_GT(all.changes, 0U);
  EXPECT_GT(all.refused, 0U);
  EXPECT_GT(all.touched, 0U);
  EXPECT_GT(all.responses, 0U);
}

TEST(KeyWalk, AFailingScriptShrinks) {
  std::vector<key_step> script(100, key_step{key_order::access, {}});
  script[17].order = key_order::reg;
  script[63].order = key_order::dereg;
  const auto fails = [](const std::vector<key_step>& s) {
    bool registered = false;
    for (const key_step& k : s) {
      registered |= k.order == key_order::reg;
      if (registered && k.order == key_order::dereg) return true;
    }
    return false;
  };
  EXPECT_EQ(shrink(script, fails).size(), 2U);
}

system_config tiny(double loss) {
  return kit::meagre(walk_config(), loss);
}

TEST(KeyWalk, OneOrderAfterTheOther) {
  expect_agreement(walk_config(), 2, 10'000, false);
}
TEST(KeyWalk, OneOrderAfterTheOtherOnTinyResources) {
  expect_agreement(tiny(0.005), 4, 1000, false);
}
TEST(KeyWalk, Racing) {
  expect_agreement(walk_config(), 2, 10'000, true);
}
TEST(KeyWalk, RacingOnTinyResourcesAndABadLink) {
  expect_agreement(tiny(0.01), 10, 1000, true);
}

TEST(KeyWalk, AScriptReadsBackAsItWasWritten) {
  const std::vector<key_step> script = {{key_order::bind_2, {1, 2, 3, 4, 5, 6}}, {key_order::renew, {3}}};
  EXPECT_EQ(parse_script(text_of(script)), script);
  EXPECT_THROW(parse_script("unbind 1 2 3 4 5 6\n"), std::invalid_argument);
  EXPECT_THROW(parse_script("reg 1 2\n"), std::invalid_argument);
}

TEST(KeyWalk, Replay) {
  const char* const file = std::getenv("HCASIM_KEY_SCRIPT");
  if (file == nullptr) GTEST_SKIP() << "HCASIM_KEY_SCRIPT names no script";
  std::ifstream in(file);
  ASSERT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  const bool racing = std::getenv("HCASIM_KEY_RACING") != nullptr;
  EXPECT_EQ(walk_apart(walk_config(), parse_script(text.str()), {.racing = racing}).problem, "");
}

}  // namespace
}  // namespace hcasim::testing
