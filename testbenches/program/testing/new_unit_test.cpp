// `hcasim new-unit` of the built program: its files, and its refusals. installed_example builds and runs the files.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class new_unit_of_the_program : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
};

TEST_F(new_unit_of_the_program, writes_a_project_of_every_kind) {
  for (const char* kind : {"key_check", "context_cache", "page_walker", "doorbell", "stream", "axi4", "device", "tlp_device"}) {
    const std::string name = fmt::format("my_{}", kind);
    const outcome o = hcasim(fmt::format("new-unit {} --kind {} --json", name, kind));
    ASSERT_EQ(o.status, 0) << o.text;
    std::set<std::string> told;
    const nlohmann::json said = nlohmann::json::parse(o.text);
    for (const auto& f : said["files"]) told.insert(f);
    std::set<std::string> there;
    for (const auto& e : fs::directory_iterator(name)) {
      there.insert(e.path().filename());
      const std::string text = file_content(e.path());
      for (const char* left : {"@NAME@", "@KIND@", "@PINS@", "@SOURCES@", "@PREFIX@", "@UNIT@"})
        EXPECT_EQ(text.find(left), std::string::npos) << e.path() << ": " << left;
    }
    EXPECT_EQ(told, there);
    EXPECT_TRUE(there.contains("CMakeLists.txt") && there.contains("CMakePresets.json") && there.contains("README.md"));
    EXPECT_NE(file_content(fs::path(name) / (name + ".sv")).find("module " + name + " "), std::string::npos) << name;
    EXPECT_NE(file_content(fs::path(name) / "CMakeLists.txt").find("clock "), std::string::npos) << "its pins";
    EXPECT_TRUE(nlohmann::json::accept(file_content(fs::path(name) / "CMakePresets.json")));
  }
}

TEST_F(new_unit_of_the_program, refuses_and_leaves_nothing) {
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const outcome o = hcasim("new-unit " + arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_NE(o.text.find(why), std::string::npos) << arguments << ": " << o.text;
  };
  refused("", "name is required");
  for (const char* name :
       {"9lives", "My_unit", "my-unit", "../my_unit", "'my unit'", "é", "''", "a_very_long_name_that_no_tool_will_like_much_x"})
    refused(name, "is not a module name");
  refused("my__unit", "two together");
  refused("module", "is a word of SystemVerilog");
  refused("fall_through", "hcasim's RTL");
  refused("key_check", "is a kind of hcasim's own");
  refused("my_unit --kind key_chekc", "did you mean 'key_check'?");
  EXPECT_TRUE(fs::is_empty("."));
  fs::create_directory("taken");
  std::ofstream("taken/file") << "mine";
  refused("taken", "is there already");
  EXPECT_EQ(file_content("taken/file"), "mine");
  std::ofstream("plain") << "mine";
  refused("my_unit -o plain", "is there already");
  refused("my_unit -o plain/below", "cannot be written");
  fs::create_directory("empty");
  EXPECT_EQ(hcasim("new-unit my_unit -o empty --kind stream").status, 0);
  EXPECT_TRUE(fs::exists("empty/my_unit.sv"));
}

// Faults in a project written by new-unit, or in a unit of hcasim. installed_example has a project of its own to build.
TEST_F(new_unit_of_the_program, mutate_says_what_it_can_build) {
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const outcome o = hcasim("mutate " + arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_NE(o.text.find(why), std::string::npos) << arguments << ": " << o.text;
  };
  refused("", "what is required");
  refused("key_chekc", "is neither a unit of hcasim with RTL, as key_check, nor a folder");
  refused("requester", "is neither a unit of hcasim with RTL");
  fs::create_directory("empty");
  refused("empty", "nor a folder with a CMakePresets.json");
  std::ofstream("empty/CMakePresets.json") << "{}";
  refused("empty", "cmake --preset mutate failed");
  refused("empty --all", "--all is for units of hcasim");
}

TEST_F(new_unit_of_the_program, mutate_builds_a_unit_and_runs_it) {
  const outcome o = hcasim("mutate doorbell --file uar_decode.sv --requests 300 --least 0.1");
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("score"), std::string::npos) << o.text;
  const outcome as_json = hcasim("mutate doorbell --file uar_decode.sv --requests 300 --least 0.1 --json");
  // The build speaks to the errors.
  const nlohmann::json said =
      nlohmann::json::parse(as_json.text.substr(std::min(as_json.text.find('{'), as_json.text.size())), nullptr, false);
  ASSERT_FALSE(said.is_discarded()) << as_json.text;
  const nlohmann::json all = said["kinds"]["all"];
  EXPECT_GT(all["killed"], 0);
  EXPECT_EQ(all["survived"], said["survived"].size());
  EXPECT_EQ(all["in_storms_alone"], said["in_storms_alone"].size());
  EXPECT_EQ(hcasim("mutate doorbell --file uar_decode.sv --requests 10 --least 1").status, 1);
  EXPECT_EQ(hcasim("mutate doorbell --requests many").status, 2);
}

}  // namespace
}  // namespace hcasim
