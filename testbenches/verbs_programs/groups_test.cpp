// Features for more than two QPs: multicast groups, XRC domains; and packets with a global route header, as Wireshark sees
// them.
#include <array>
#include <cstdlib>
#include <sstream>

#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::size_t n = 0;
  for (std::string line; std::getline(lines, line);) n += line.find(part) != std::string::npos ? 1 : 0;
  return n;
}

// Returns the mean size of a packet on the wire.
double figure_of_packets(const std::string& folder, std::size_t packets) {
  const outcome o = run_program("tshark", fmt::format("-r {}/packets.ib.pcapng -T fields -e frame.len 2>/dev/null", folder));
  std::istringstream lines(o.text);
  double all = 0;
  for (std::string line; std::getline(lines, line);) all += std::strtod(line.c_str(), nullptr);
  return all / static_cast<double>(packets);
}

// One of four programs on a switch sends, and two listen: each of these two gets every message.
TEST(applications, a_group_on_a_switch) {
  if (const std::string why = obstacle("mckey"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const std::string words =
      "-- mckey -m 239.1.1.1 -b node0 -C 20 -- mckey -m 239.1.1.1 -b node1 -C 20 -- ibv_devinfo "
      "-- mckey -m 239.1.1.1 -b node3 -C 20 -s";
  const outcome first = exec(folder / "a", words);
  ASSERT_EQ(first.status, 0) << first.text;
  for (const char* file : {"a/program0.txt", "a/program1.txt"}) {
    const std::string printed = file_content(folder / file);
    EXPECT_EQ(lines_with(printed, "data transfers complete"), 1U) << printed;
    EXPECT_EQ(lines_with(printed, "return status 0"), 1U) << printed;
  }
  ASSERT_EQ(exec(folder / "b", words).status, 0);
  EXPECT_EQ(file_content(folder / "a/result.json"), file_content(folder / "b/result.json"));
  EXPECT_EQ(figure(folder / "a", "unknown_waits"), 0);
}

// By default a pingpong sends with no GRH; with -g 0 each packet has one, which costs the link 40 bytes.
TEST(applications, packets_with_a_global_route_header) {
  for (const char* needed : {"ibv_rc_pingpong", "tshark"}) {
    if (const std::string why = obstacle(needed); !why.empty()) GTEST_SKIP() << why;
  }
  const scratch folder;
  std::array<double, 2> bytes{};
  for (const bool global : {false, true}) {
    const std::string pingpong = fmt::format("ibv_rc_pingpong -n 20 -s 4096 {}", global ? "-g 0" : "");
    const std::string out = folder / (global ? "global" : "local");
    ASSERT_EQ(exec(out, fmt::format("-- {0} -- {0} node0", pingpong), "--packets ib --packets roce").status, 0);
    const outcome seen = run_program(
        "tshark", fmt::format("-r {}/packets.ib.pcapng -T fields -E separator=, -e infiniband.grh.sgid -e infiniband.grh.dgid "
                              "-e infiniband.bth.opcode -e _ws.malformed -e infiniband.lrh.lnh 2>/dev/null",
                              out));
    ASSERT_EQ(seen.status, 0);
    const std::size_t packets = lines_with(seen.text, ",");
    EXPECT_GT(packets, 40U);
    EXPECT_EQ(lines_with(seen.text, "fe80::268:6361:0:1,fe80::268:6361:0:2") +
                  lines_with(seen.text, "fe80::268:6361:0:2,fe80::268:6361:0:1"),
              global ? packets : 0U)
        << seen.text;
    EXPECT_EQ(lines_with(seen.text, "alformed"), 0U);
    bytes[global ? 1 : 0] = figure_of_packets(out, packets);
  }
  EXPECT_NEAR(bytes[1] - bytes[0], 40, 1e-9) << "a header for each";
}

}  // namespace
}  // namespace hcasim::applications
