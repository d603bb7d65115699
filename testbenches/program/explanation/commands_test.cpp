#include "testbenches/program/explanation/commands.h"

#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"

namespace hcasim {
namespace {

TEST(command_names, every_opcode_of_the_interface_has_its_name) {
  std::ifstream file(std::string(places::source) + "/firmware/abi/command.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex definition(R"(HCA_CMD_(\w+)\s*=\s*0x([0-9a-f]+))");
  std::size_t found = 0;
  for (auto m = std::sregex_iterator(text.begin(), text.end(), definition); m != std::sregex_iterator(); ++m, ++found) {
    EXPECT_EQ(command_name(static_cast<std::uint16_t>(std::stoul((*m)[2], nullptr, 16))), (*m)[1].str());
  }
  EXPECT_GE(found, 36U);
  EXPECT_EQ(command_name(0x7f), "0x7f");
}

}  // namespace
}  // namespace hcasim
