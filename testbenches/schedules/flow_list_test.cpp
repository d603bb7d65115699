// Flow lists: what is read, and each fault with its line and mend.
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/schedules/flow_list.h"

namespace hcasim::schedules {
namespace {

schedule flows_of(const std::string& text) {
  std::istringstream in(text);
  return read_flows(in, "x.flows", {.ranks = 4, .flows = 3});
}

std::string fault_of(const std::string& text) {
  try {
    flows_of(text);
    return "accepted";
  } catch (const schedule_error& e) {
    return e.what();
  }
}

TEST(flow_list, makes_a_message_of_each_flow_from_the_earliest_start) {
  const schedule s = flows_of("2\n\n1 0 3 100 40000 2.000003\n3 0 3 100 1000 2.000001\n");
  EXPECT_NO_THROW(check(s));
  ASSERT_EQ(s.ranks.size(), 4U);
  ASSERT_EQ(s.ranks[1].operations.size(), 1U);
  EXPECT_EQ(s.ranks[1].operations[0].what, action::send);
  EXPECT_EQ(s.ranks[1].operations[0].bytes, 40'000U);
  EXPECT_EQ(s.ranks[1].operations[0].time, 2_us);
  EXPECT_EQ(s.ranks[1].operations[0].line, 3U);
  EXPECT_EQ(s.ranks[3].operations[0].time, ps(0));
  EXPECT_EQ(s.ranks[3].operations[0].tag, 1U);
  EXPECT_EQ(s.ranks[0].operations.size(), 2U);
}

TEST(flow_list, names_the_line_and_the_mend_of_a_fault) {
  EXPECT_EQ(fault_of(""), "x.flows:0: the number of flows is expected here; begin with it on a line of its own");
  EXPECT_EQ(fault_of("0 1 3 100 1 2\n"), "x.flows:1: the number of flows is expected here; begin with it on a line of its own");
  EXPECT_EQ(fault_of("0\n"), "x.flows:1: there are no flows; at least 1 is needed");
  EXPECT_EQ(fault_of("4\n"), "x.flows:1: there are 4 flows; at most 3 are allowed: cut the list");
  EXPECT_EQ(fault_of("2\n0 1 3 100 8 0\n"),
            "x.flows:2: flow 2 is missing; the file is cut off, or the first line counts too many");
  EXPECT_EQ(fault_of("1\n0 1 3 100 8 0\n0 1 3 100 8 0\n"),
            "x.flows:3: there are more lines than flows; the first line says 1: correct one of them");
  EXPECT_EQ(fault_of("1\n0 1 3 8 0\n"),
            "x.flows:2: six numbers are expected here; write source, target, priority, port, bytes and start in seconds");
  EXPECT_EQ(fault_of("1\n0 4 3 100 8 0\n"), "x.flows:2: there is no host 4; there are 4: write nodes: 5 or more");
  EXPECT_EQ(fault_of("1\n2 2 3 100 8 0\n"),
            "x.flows:2: a flow of host 2 to itself; no adapter is needed for it: remove the line");
  EXPECT_EQ(fault_of("1\n0 1 3 100 0 0\n"), "x.flows:2: a flow of 0 bytes; 1 byte to 1 GiB is allowed");
  EXPECT_EQ(fault_of("1\n0 1 3 100 8 -1\n"), "x.flows:2: a start at -1 s; 0 to 1e6 s is allowed");
}

}  // namespace
}  // namespace hcasim::schedules
