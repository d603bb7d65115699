// GOAL schedules: what is read, and each fault with its line and mend.
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/schedules/goal.h"

namespace hcasim::schedules {
namespace {

schedule read(const std::string& text, const goal_limits& limits = {}) {
  std::istringstream in(text);
  schedule s = read_goal(in, "x.goal", limits);
  check(s);
  return s;
}

std::string refused(const std::string& text, const goal_limits& limits = {}) {
  try {
    read(text, limits);
    return "accepted";
  } catch (const schedule_error& e) {
    return e.what();
  }
}

constexpr const char* two_ranks = R"(num_ranks 2
/* a comment
   over lines */
rank 0 {
l1: calc 1000 cpu 1
l2: send 4096b to 1 tag 7 cpu 0 nic 0  // the message
l2 requires l1
}
rank 1 {
recv 4096b from 0 tag 7
l9: calc 5
l9 irequires l9b
l9b: calc 6
}
)";

TEST(goal, reads_operations_and_their_order) {
  const schedule s = read(two_ranks);
  ASSERT_EQ(s.ranks.size(), 2U);
  ASSERT_EQ(s.ranks[0].operations.size(), 2U);
  const operation& calc = s.ranks[0].operations[0];
  EXPECT_EQ(calc.what, action::calculate);
  EXPECT_EQ(calc.time, 1_us);
  EXPECT_EQ(calc.cpu, 1);
  EXPECT_EQ(calc.line, 5U);
  const operation& send = s.ranks[0].operations[1];
  EXPECT_EQ(send.what, action::send);
  EXPECT_EQ(send.bytes, 4096U);
  EXPECT_EQ(send.peer, 1U);
  EXPECT_EQ(send.tag, 7U);
  ASSERT_EQ(s.ranks[0].dependencies.size(), 1U);
  EXPECT_EQ(s.ranks[0].dependencies[0].after, 1U);
  EXPECT_EQ(s.ranks[0].dependencies[0].before, 0U);
  EXPECT_FALSE(s.ranks[0].dependencies[0].begun);
  EXPECT_TRUE(s.ranks[1].dependencies[0].begun);
}

struct fault {
  const char* name;
  std::string text;
  const char* message;
};

class goal_faults : public testing::TestWithParam<fault> {};

TEST_P(goal_faults, names_the_line_and_the_mend) {
  EXPECT_EQ(refused(GetParam().text, {.ranks = 4, .operations = 3}), GetParam().message);
}

const std::string begin = "num_ranks 2\nrank 0 {\n";

INSTANTIATE_TEST_SUITE_P(
    all, goal_faults,
    testing::Values(
        fault{"empty", "", "x.goal:0: there is no 'num_ranks'; begin with for example: num_ranks 2"},
        fault{"no_ranks", "rank 0 {\n}\n",
              "x.goal:1: 'num_ranks' is expected here, not 'rank'; begin with for example: num_ranks 2"},
        fault{"zero_ranks", "num_ranks 0\n", "x.goal:1: num_ranks is 0; at least 1 is needed"},
        fault{"many_ranks", "num_ranks 5\n", "x.goal:1: num_ranks is 5; at most 4 is allowed"},
        fault{"rank_out_of_range", "num_ranks 2\nrank 2 {\n}\n", "x.goal:2: rank is 2; at most 1 is allowed"},
        fault{"rank_twice", "num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n",
              "x.goal:4: rank 0 stands twice; put its operations together"},
        fault{"cut_off", begin + "calc 5\n", "x.goal:3: rank 0 does not end; the file is cut off, or write }"},
        fault{"comment_cut_off", begin + "/* calc\n", "x.goal:3: a comment /* does not end; the file is cut off, or write */"},
        fault{"unknown_word", begin + "calk 5\n}\n",
              "x.goal:3: 'calk' is no operation; write send, recv or calc, or 'l2 requires l1'"},
        fault{"no_time", begin + "calc\n}\n", "x.goal:3: calc is missing; write a number"},
        fault{"no_size", begin + "send 5 to 1\n}\n", "x.goal:3: a size is expected here, not '5'; write for example 4096b"},
        fault{"bad_size", begin + "send 5xb to 1\n}\n",
              "x.goal:3: the size: '5xb' is not a whole number; write one, such as 8"},
        fault{"to_itself", begin + "send 5b to 0\n}\n",
              "x.goal:3: rank 0 sends to itself; no adapter is needed for it: remove the pair"},
        fault{"peer_out_of_range", begin + "send 5b to 2\n}\n", "x.goal:3: the other rank is 2; at most 1 is allowed"},
        fault{"other_nic", begin + "send 5b to 1 nic 1\n}\n", "x.goal:3: nic is 1; a host has one adapter: write nic 0"},
        fault{"unknown_label", begin + "l1: calc 1\nl1 requires l2\n}\n", "x.goal:4: rank 0 has no label 'l2'; check the name"},
        fault{"label_twice", begin + "l1: calc 1\nl1: calc 2\n}\n",
              "x.goal:4: the label 'l1' stands twice in rank 0; rename one"},
        fault{"too_many", begin + "calc 1\ncalc 1\ncalc 1\ncalc 1\n}\n",
              "x.goal:6: there are more than 3 operations; cut the schedule into parts"},
        fault{"circle", begin + "a: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
              "x.goal:3: operations of rank 0 require each other in a circle, of which this is one; remove a 'requires'"},
        fault{"unmatched_send", begin + "send 8b to 1 tag 3\n}\n",
              "x.goal:3: rank 0 sends 8 bytes to 1 with tag 3, and rank 1 has no receive for them; add one"},
        fault{"unmatched_receive", begin + "recv 8b from 1\n}\n",
              "x.goal:3: rank 0 receives 8 bytes from 1 with tag 0, and rank 1 has no send for them; add one"},
        fault{"other_size", begin + "send 8b to 1\n}\nrank 1 {\nrecv 9b from 0\n}\n",
              "x.goal:3: rank 0 sends 8 bytes to 1 with tag 0, and line 6 receives 9; make them equal"}),
    [](const testing::TestParamInfo<fault>& i) { return i.param.name; });

}  // namespace
}  // namespace hcasim::schedules
