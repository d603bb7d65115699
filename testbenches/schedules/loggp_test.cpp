// The LogGP model against sums by hand.
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/schedules/goal.h"
#include "testbenches/schedules/loggp.h"

namespace hcasim::schedules {
namespace {

constexpr loggp machine{.latency = 1000_ns, .o_send = 200_ns, .o_receive = 300_ns, .gap = 50_ns, .byte_gap = 80};

ps time_of(const std::string& text) {
  std::istringstream in(text);
  const schedule s = read_goal(in, "x.goal");
  check(s);
  return completion_time(s, machine);
}

TEST(loggp, of_one_message) {
  // o_send + latency + 999 bytes x 80 ps + o_receive
  EXPECT_EQ(time_of("num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n"), 1579920_ps);
}

TEST(loggp, of_a_ping_pong_after_a_calculation) {
  EXPECT_EQ(time_of("num_ranks 2\nrank 0 {\na: calc 500\nb: send 1b to 1\nb requires a\nc: recv 1b from 1\n}\n"
                    "rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n"),
            500_ns + 2 * (200_ns + 1000_ns + 300_ns));
}

TEST(loggp, of_a_stream_is_bound_by_the_receivers_thread) {
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < 10; ++i) text += "send 1b to 1\n";
  text += "}\nrank 1 {\n";
  for (int i = 0; i < 10; ++i) text += "recv 1b from 0\n";
  EXPECT_EQ(time_of(text + "}\n"), 200_ns + 1000_ns + 10 * 300_ns);
}

TEST(loggp, threads_of_one_rank_calculate_at_once) {
  EXPECT_EQ(time_of("num_ranks 1\nrank 0 {\ncalc 500 cpu 0\ncalc 700 cpu 1\n}\n"), 700_ns);
  EXPECT_EQ(time_of("num_ranks 1\nrank 0 {\ncalc 500 cpu 0\ncalc 700 cpu 0\n}\n"), 1200_ns);
}

TEST(loggp, irequires_follows_the_begin) {
  EXPECT_EQ(time_of("num_ranks 1\nrank 0 {\na: calc 500 cpu 0\nb: calc 700 cpu 1\nb irequires a\n}\n"), 700_ns);
  EXPECT_EQ(time_of("num_ranks 1\nrank 0 {\na: calc 500 cpu 0\nb: calc 700 cpu 1\nb requires a\n}\n"), 1200_ns);
}

}  // namespace
}  // namespace hcasim::schedules
