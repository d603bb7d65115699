// Descriptions of traffic, read and run by the program.
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class traffic_description : public ::testing::Test {
 protected:
  traffic_description() {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  ~traffic_description() override {
    fs::current_path("/");
    fs::remove_all(folder_);
  }
  static outcome run(const std::string& arguments) {
    return run_program(places::program, "run " + arguments + " -o out --force --no-trace");
  }
  static void file(const std::string& flows) {
    std::ofstream("t.yaml") << "testbench: traffic\ntraffic:\n  groups: {clients: 0-2, servers: 3}\n  flows:\n"
                            << flows << "  measure: 20 us\n";
  }
  static json result() { return json::parse(file_content("out/result.json")); }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_traffic_{}", ::getpid());
};

constexpr const char* mixed = "    mixed: {from: clients, to: servers, pattern: incast, read: 3, write: 1, size: 1 KiB}\n";

TEST_F(traffic_description, a_result_is_the_same_again_and_from_its_resolved_description) {
  file(mixed);
  ASSERT_EQ(run("t.yaml").status, 0);
  const std::string once = file_content("out/result.json");
  const std::string rates = file_content("out/rates.csv");
  ASSERT_EQ(run("t.yaml").status, 0);
  EXPECT_EQ(file_content("out/result.json"), once);
  EXPECT_EQ(file_content("out/rates.csv"), rates);
  fs::copy_file("out/resolved.yaml", "again.yaml");
  const outcome again = run("again.yaml");
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(file_content("out/result.json"), once);
  ASSERT_EQ(run("t.yaml --seed 2").status, 0);
  EXPECT_NE(file_content("out/result.json"), once);
}

TEST_F(traffic_description, nodes_follow_from_the_groups_and_flows_take_overrides) {
  file(mixed);
  ASSERT_EQ(run("t.yaml --set 'traffic.flows.mixed.size=64 B' --set node3.hca.mrc_cache.ways=2").status, 0);
  const json r = result();
  EXPECT_EQ(r["description"]["nodes"], 4);
  EXPECT_EQ(r["description"]["traffic"]["flows"]["mixed"]["size"], "64 B");
  EXPECT_FALSE(r["description"]["traffic"]["flows"].contains("writes")) << "the example makes room for named flows";
  ASSERT_EQ(run("t.yaml --set traffic.groups.servers=3-5 --set traffic.flows.mixed.pattern=all_to_all").status, 0);
  EXPECT_EQ(result()["description"]["nodes"], 6);
}

TEST_F(traffic_description, errors_name_file_line_and_mend) {
  const auto refused = [](const std::string& arguments, const std::string& text) {
    const outcome o = run(arguments);
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_EQ(o.text, "hcasim: " + text + "\n");
    EXPECT_FALSE(fs::exists("out"));
  };
  file("    reads: {from: clients, to: server, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:32: traffic.flows.reads.to: there is no group 'server'; did you mean 'servers'?");
  file("    reads: {from: clients, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:5: traffic.flows.reads.to: is missing; write to: GROUP, one of clients, servers");
  file("    reads: {from: clients, to: servers, pattern: incast, raed: 1}\n");
  refused("t.yaml", "t.yaml:5:64: traffic.flows.reads.raed: unknown key 'raed'; did you mean 'read'?");
  file("    2nd: {from: clients, to: servers, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:5: traffic.flows.2nd: '2nd' is no name; write letters, digits and _, a letter first");
  file(mixed);
  refused("t.yaml --set traffic.flows.mixd.size=64B",
          "--set traffic.flows.mixd.size=64B: traffic.flows.mixd: unknown key 'mixd'; did you mean 'mixed'?");
  refused("t.yaml --set nodes=9", "nodes: there are 9 hosts, but traffic would drive only 4; write nodes: 4");
  refused("t.yaml --set nodes=3", "nodes: traffic needs 4 hosts, and there are 3; write nodes: 4");
  std::ofstream("t.yaml") << "testbench: traffic\ntraffic: {groups: {a: 0-1}}\n";
  refused("t.yaml",
          "t.yaml:2:1: traffic.flows: there is none; write for example flows: {writes: {from: clients, to: servers, "
          "write: 1}}");
}

TEST_F(traffic_description, a_histogram_lies_beside_its_description) {
  fs::create_directory("deep");
  std::ofstream("deep/sizes.csv") << "64 B,1\n1 KiB,1\n";
  file("    mixed: {from: clients, to: servers, pattern: incast, write: 1, size: histogram sizes.csv}\n");
  fs::rename("t.yaml", "deep/t.yaml");
  ASSERT_EQ(run("deep/t.yaml").status, 0);
  EXPECT_EQ(result()["description"]["traffic"]["flows"]["mixed"]["size"],
            "histogram " + (fs::canonical(folder_) / "deep/sizes.csv").string());
}

}  // namespace
}  // namespace hcasim
