// Packets that the kernel has still to deliver, and a wait for them.
#include "testbenches/verbs_programs/simulator/loopback.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace hcasim::applications {
namespace {

constexpr const char* line_of_4_12 =
    "00979d9e 00000000 00000004 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n";

std::string line(const std::string& waiting, const std::string& processor) {
  std::string out = "00979d9e 00000000 00000004";
  for (int i = 0; i < 8; ++i) out += " 00000000";
  return out + ' ' + waiting + ' ' + processor + " 00000000 00000000\n";
}

TEST(packets_waiting, is_the_sum_over_processors) {
  EXPECT_EQ(packets_waiting(line("00000000", "00000000")), 0);
  EXPECT_EQ(packets_waiting(line("00000000", "00000000") + line("0000001f", "00000001") + line("00000002", "00000003")), 33);
}

TEST(packets_waiting, is_not_known_from_other_texts) {
  for (const std::string& text : {std::string(), std::string(line_of_4_12), std::string("none\n"), line("0000000x", "00000000"),
                                  line("00000001", "00000000") + line_of_4_12}) {
    EXPECT_EQ(packets_waiting(text), std::nullopt) << text;
  }
}

TEST(loopback, an_idle_one_is_drained_at_once) {
  std::ifstream file("/proc/net/softnet_stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!packets_waiting(text)) GTEST_SKIP() << "this kernel does not tell which packets wait";
  EXPECT_TRUE(loopback().drain(std::chrono::seconds(10)));
}

}  // namespace
}  // namespace hcasim::applications
