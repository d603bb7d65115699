// The clients that start together, and the time in which they are active together.
#include "testbenches/verbs_programs/simulator/start_order.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "testbenches/verbs_programs/simulator/overlap.h"

namespace hcasim::applications {
namespace {

using flags = std::vector<bool>;

TEST(start_order, a_client_names_the_node_of_another_program) {
  const std::vector<placed_program> programs{{{"ib_write_bw"}, 0},
                                             {{"ib_write_bw", "node0"}, 1},
                                             {{"fio", "--hostname=node0"}, 2},
                                             {{"bash", "-c", "sleep 1; ib_write_bw node0"}, 3},
                                             {{"cat", "node01", "my_node0", "node9"}, 4}};
  EXPECT_EQ(find_clients(programs), (flags{false, true, true, true, false}));
}

// mckey binds to its own address, and alone on its node it is no client.
TEST(start_order, its_own_node_makes_no_client) {
  EXPECT_EQ(find_clients(std::vector<placed_program>{{{"mckey", "-b", "node0"}, 0}, {{"mckey", "-b", "node1"}, 1}}),
            (flags{false, false}));
  EXPECT_EQ(find_clients(std::vector<placed_program>{{{"ib_write_bw"}, 0}, {{"ib_write_bw", "node0"}, 0}}),
            (flags{false, true}));
  EXPECT_EQ(find_clients(std::vector<placed_program>{{{"mpirun"}, 0, true}, {{"ib_write_bw", "node0"}, 1}}),
            (flags{false, false}));
}

TEST(start_order, clients_with_a_server_each_start_together) {
  const std::vector<placed_program> incast{
      {{"s", "1"}, 0}, {{"s", "2"}, 0}, {{"c", "1", "node0"}, 1}, {{"c", "2", "node0"}, 2}};
  EXPECT_EQ(find_group(incast, common_start::paired), (flags{false, false, true, true}));
  EXPECT_EQ(find_group(incast, common_start::never), (flags{false, false, false, false}));
  const std::vector<placed_program> one_server{{{"s"}, 0}, {{"c", "node0"}, 1}, {{"c", "node0"}, 2}};
  EXPECT_EQ(find_group(one_server, common_start::paired), (flags{false, false, false}));
  EXPECT_EQ(find_group(one_server, common_start::always), (flags{false, true, true}));
}

TEST(start_order, a_start_of_its_own_leaves_the_group) {
  std::vector<placed_program> programs{{{"s"}, 0}, {{"s"}, 1}, {{"c", "node0"}, 2}, {{"c", "node1"}, 3}};
  programs[3].own_start = true;
  EXPECT_EQ(find_group(programs, common_start::paired), flags(4, false));
  EXPECT_THROW(find_group(programs, common_start::always), std::invalid_argument);
}

active_time from_to(ps begin, ps end) {
  active_time out;
  out.posted(begin);
  out.completed(end);
  return out;
}

TEST(overlap, is_the_share_of_the_time_in_which_all_are_active) {
  EXPECT_EQ(overlap_of(std::vector{from_to(0_us, 8_us), from_to(2_us, 10_us)}), 0.6);
  EXPECT_EQ(overlap_of(std::vector{from_to(0_us, 4_us), from_to(4_us, 8_us)}), 0.0);
  EXPECT_EQ(overlap_of(std::vector{from_to(0_us, 4_us), from_to(5_us, 8_us), from_to(0_us, 8_us)}), 0.0);
  EXPECT_EQ(overlap_of(std::vector{from_to(1_us, 4_us), from_to(1_us, 4_us)}), 1.0);
}

TEST(overlap, takes_two_that_were_active) {
  EXPECT_EQ(overlap_of(std::vector{from_to(0_us, 8_us), active_time()}), std::nullopt);
  EXPECT_EQ(overlap_of({}), std::nullopt);
}

// Receives of a program that sent nothing are no activity of its own.
TEST(overlap, begins_with_the_first_send_of_any_process) {
  active_time listens;
  listens.completed(5_us);
  EXPECT_FALSE(listens.begin);
  active_time program;
  program.add(from_to(3_us, 6_us));
  program.add(listens);
  program.add(from_to(2_us, 4_us));
  EXPECT_EQ(program.begin, 2_us);
  EXPECT_EQ(program.end, 6_us);
}

}  // namespace
}  // namespace hcasim::applications
