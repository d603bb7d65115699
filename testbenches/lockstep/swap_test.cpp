// RTL in the place of its model in a whole system: the R_Key reuse testbench runs unchanged, with the same bytes and verdicts.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "testbenches/places/places.h"

namespace hcasim {
namespace {

struct outcome {
  int status = 0;
  std::string text;
  std::map<std::string, double> verdicts;  // of every key_check, and the bytes that were streamed
  double seconds = 0;
};

outcome run(const std::string& arguments, const std::string& testbench = "rkey_reuse") {
  const std::string folder = ::testing::TempDir() + "hcasim_swap_" + std::to_string(getpid());
  const std::string command =
      std::string(places::program) + " run " + testbench + " --no-trace --force -o " + folder + " " + arguments + " 2>&1";
  outcome o;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (fgets(part.data(), part.size(), pipe)) o.text += part.data();
  o.status = pclose(pipe);
  std::ifstream file(folder + "/result.json");
  if (file) {
    const auto result = nlohmann::json::parse(file);
    for (const auto& [name, statistics] : result.at("statistics").items()) {
      if (!name.ends_with("key_check")) continue;
      for (const auto& [statistic, s] : statistics.items()) {
        const bool of_verdicts =
            (statistic.starts_with("local_") || statistic.starts_with("remote_")) && !statistic.ends_with("latency");
        if (of_verdicts || statistic == "drains") o.verdicts[name + "." + statistic] = s.at("value").get<double>();
      }
    }
  }
  std::filesystem::remove_all(folder);
  return o;
}

std::string rtl(std::initializer_list<const char*> units) {
  std::string s;
  for (const char* u : units) s.append(" --set 'node*.hca.").append(u).append(".implementation=rtl'");
  return s;
}

TEST(swap, every_unit_alone_and_all_together_give_the_same_bytes_and_verdicts) {
  const outcome model = run("");
  ASSERT_EQ(model.status, 0) << model.text;
  ASSERT_GE(model.verdicts.size(), 32U);
  for (const std::string& mix :
       {rtl({"doorbell"}), rtl({"key_check"}), rtl({"page_walker"}), rtl({"mrc_cache"}), rtl({"extent_cache", "cqc_cache"}),
        rtl({"doorbell", "key_check", "page_walker", "mrc_cache", "extent_cache", "cqc_cache"})}) {
    const outcome o = run(mix);
    EXPECT_EQ(o.status, 0) << mix << "\n" << o.text;
    EXPECT_NE(o.text.find("passed"), std::string::npos) << o.text;
    EXPECT_EQ(o.text.find("differ"), std::string::npos) << o.text;
    EXPECT_EQ(o.verdicts, model.verdicts) << mix;
  }
}

// What passed the key check's boundary in a system run, again with model and RTL side by side.
TEST(swap, a_stream_recorded_in_a_system_run_is_replayed) {
  const std::string file = ::testing::TempDir() + "swap_" + std::to_string(getpid()) + ".stream";
  const outcome recorded = run("--record-stream node1.hca.key_check=" + file);
  EXPECT_EQ(recorded.status, 0) << recorded.text;
  EXPECT_NE(recorded.text.find(" items, hcasim run lockstep --stream " + file), std::string::npos) << recorded.text;
  const outcome replayed = run("--stream " + file, "lockstep");
  EXPECT_EQ(replayed.status, 0) << replayed.text;
  EXPECT_NE(replayed.text.find("passed"), std::string::npos) << replayed.text;
  // Every check and drain that the unit has counted is in it.
  double counted = 0;
  for (const auto& [name, n] : recorded.verdicts) counted += name.find("node1.") != std::string::npos ? n : 0;
  double items = 0, contexts = 0;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) ++((std::stoull(line, nullptr, 16) & 0xff) <= 2 ? items : contexts);
  EXPECT_EQ(items, counted);
  EXPECT_GT(items, 1000);
  EXPECT_GE(contexts, 5);
  std::filesystem::remove(file);
}

TEST(swap, a_stream_of_no_unit_is_refused) {
  EXPECT_NE(run("--record-stream node0.hca.port=x").text.find("'node0.hca.port' is no unit whose stream can be recorded"),
            std::string::npos);
  EXPECT_NE(run("--record-stream x").text.find("--record-stream x: write UNIT=FILE"), std::string::npos);
}

TEST(swap, what_the_rtl_is_not_built_for_is_refused_by_name) {
  const auto error_of = [](const std::string& arguments) {
    const outcome o = run(arguments);
    EXPECT_NE(o.status, 0);
    return o.text;
  };
  EXPECT_NE(error_of(rtl({"qpc_cache"})).find("qpc_cache: the RTL has entries of 64 bytes, not of 256"), std::string::npos);
  EXPECT_NE(error_of(rtl({"key_check"}) + " --set 'node*.hca.key_check.depth=9 cycles'")
                .find("key_check: the RTL is built for depth: 6 cycles"),
            std::string::npos);
  EXPECT_NE(error_of(rtl({"page_walker"}) + " --set 'node*.hca.page_walker.walkers=5'")
                .find("page_walker: the RTL is built for walkers: 4"),
            std::string::npos);
  EXPECT_NE(
      error_of(rtl({"mrc_cache"}) + " --set 'node*.hca.mrc_cache.ways=8'").find("context_cache: the RTL is built for ways: 4"),
      std::string::npos);
}

}  // namespace
}  // namespace hcasim
