// `hcasim show` on runs of the real program.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

using nlohmann::json;

class show : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
  static json shown(const std::string& arguments) {
    const outcome o = hcasim("show " + arguments + " --json");
    EXPECT_EQ(o.status, 0) << o.text;
    return json::parse(o.text);
  }
};

TEST_F(show, every_operation_can_be_followed_and_its_shares_are_its_time) {
  ASSERT_EQ(hcasim("run ping --spans -o out").status, 0);
  const json list = shown("out --most 1000");
  ASSERT_EQ(list["operations"], list["slowest"].size());
  std::string names;  // for GTKWave
  for (const auto& e : std::filesystem::directory_iterator("out/gtkwave"))
    if (e.path().filename().string().starts_with("operation_")) names += file_content(e.path());
  std::set<std::string> kinds;
  for (const json& o : list["slowest"]) {
    const json way = shown("out " + o["operation"].get<std::string>());
    double sum = 0;
    for (const json& s : way["shares"]) sum += s["time_ns"].get<double>();
    EXPECT_NEAR(sum, o["time_ns"].get<double>(), 1e-6);
    EXPECT_EQ(way["slices"].size(), o["slices"]);
    kinds.insert(o["what"]);
    const std::string name = fmt::format(" {} {} of QP ", o["operation"].get<std::string>(), o["what"].get<std::string>());
    EXPECT_NE(names.find(name), std::string::npos) << name << " is not in\n" << names;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"READ", "SEND", "WRITE"}));
}

// The measured WRITE takes 1 310 ns from post to completion in hand. The operation is the part without host software and
// without the doorbell's way.
TEST_F(show, an_operation_takes_what_the_waterfall_says) {
  ASSERT_EQ(hcasim("run ping --spans --no-trace -o out").status, 0);
  const json result = json::parse(file_content("out/result.json"));
  double inside = 0;
  for (const json& row : result["tables"][0]["rows"]) {
    const std::string part = row[0];
    const bool outside =
        part == "total" || part.find("host") != std::string::npos || part.find("doorbell") != std::string::npos;
    if (!outside) inside += row[1].get<double>();
  }
  bool found = false;
  const json list = shown("out --most 1000");
  for (const json& o : list["slowest"]) {
    found |= o["what"] == "WRITE" && std::abs(o["time_ns"].get<double>() - inside) < 1;
  }
  EXPECT_TRUE(found) << inside;
}

TEST_F(show, wrong_folders_and_numbers_are_told) {
  ASSERT_EQ(hcasim("run ping --no-trace -o bare").status, 0);
  ASSERT_EQ(hcasim("run ping --spans --no-trace -o out").status, 0);
  const std::pair<const char*, const char*> cases[] = {
      {"nowhere", "hcasim: nowhere: no such folder\n"},
      {"bare", "hcasim: bare/spans.json: there are no spans; run the testbench again with --spans\n"},
      {"out 9.9", "hcasim: out/spans.json: no operation 9.9; 'hcasim show out' lists them\n"}};
  for (const auto& [arguments, message] : cases) {
    const outcome o = hcasim(std::string("show ") + arguments);
    EXPECT_EQ(o.status, 2);
    EXPECT_EQ(o.text, message);
  }
}

}  // namespace
}  // namespace hcasim
