// Both sides of a lockstep in one waveform.
#include "testbenches/coverification/lockstep/both_waves.h"

#include <gtest/gtest.h>

#include <bitset>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "testbenches/coverification/lockstep/search.h"

namespace hcasim::lockstep {
namespace {

// Returns the last value of a signal of one side, from a waveform with both.
std::string last_value(const std::string& waves, const std::string& side_name, const std::string& signal) {
  const std::size_t scope = waves.find("$scope module " + side_name + " $end");
  const std::size_t name = waves.find(" " + signal + " ", scope);
  const std::size_t code = waves.rfind("lockstep:", name);
  if (scope == std::string::npos || name == std::string::npos || code == std::string::npos) return {};
  const std::size_t at = waves.rfind(" " + waves.substr(code, name - code) + "\n");
  return waves.substr(waves.rfind('\n', at) + 1, at - waves.rfind('\n', at) - 1);
}

TEST(lockstep, both_sides_stand_in_the_waveform_of_the_rtl_in_the_order_of_time) {
  const std::string file = ::testing::TempDir() + "lockstep_both.vcd";
  std::ofstream(file) << "$timescale 1ps $end\n $scope module top $end\n  $var wire 1 ! clk $end\n $upscope $end\n"
                         "$enddefinitions $end\n\n#10\n0!\n#20\n1!\n#30\n0!\n";
  both_waves w;
  w.offered(rtl_side, 4, ps{25});
  w.offered(model_side, 2, ps{5});
  w.offered(model_side, 3, ps{20});
  w.answered(model_side, 2, {1, 2, 3}, ps{40});
  w.offered(model_side, 1, ps{3});
  w.merge_into(file);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string merged = text.str();
  const auto bits = [](unsigned v, unsigned signal) {
    return "b" + std::bitset<64>(v).to_string() + " lockstep:" + std::to_string(signal) + "\n";
  };
  std::string expected = "\n#10\n" + bits(2, 0);
  for (unsigned s = 1; s < 10; ++s) expected += "bx lockstep:" + std::to_string(s) + "\n";
  expected += "0!\n#20\n" + bits(3, 0) + "1!\n#25\n" + bits(4, 5) + "#30\n0!\n#40\n" + bits(2, 1) + bits(1, 2) + bits(2, 3) +
              bits(3, 4);
  EXPECT_EQ(merged.substr(merged.find("$enddefinitions $end\n") + 21), expected);
  EXPECT_LT(merged.find("$scope module lockstep"), merged.find("$enddefinitions"));
  EXPECT_GT(merged.find("$scope module lockstep"), merged.find("clk"));
  std::filesystem::remove(file);
}

// The two answers differ, and the model's own signals move.
TEST(lockstep, the_waveform_of_a_difference_shows_both_answers) {
  options o;
  o.requests = 2000;
  o.instrumented = true;
  o.fault = 1;
  o.vcd = ::testing::TempDir() + "lockstep_difference.vcd";
  const item_stream least = shortest("key_check", make_bench("key_check")->generate(o), o).stream;
  EXPECT_FALSE(run_isolated("key_check", least, o).ok());
  std::stringstream text;
  text << std::ifstream(o.vcd).rdbuf();
  const std::string waves = text.str();
  EXPECT_NE(waves.find("rsp_valid"), std::string::npos) << "the inside of the RTL";
  EXPECT_NE(last_value(waves, "model", "answer_0"), last_value(waves, "rtl", "answer_0"));
  EXPECT_EQ(last_value(waves, "model", "item_answered"), last_value(waves, "rtl", "item_answered"));
  EXPECT_NE(last_value(waves, "model", "key").find('1'), std::string::npos);
  std::filesystem::remove(o.vcd);
}

}  // namespace
}  // namespace hcasim::lockstep
