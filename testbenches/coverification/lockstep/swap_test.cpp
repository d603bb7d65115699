// RTL in the place of its model in a whole system: the R_Key reuse testbench runs unchanged, with the same bytes and verdicts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/program/testing/whole_run.h"
#include "tlm/rtl/coverage_file.h"

namespace hcasim {
namespace {

struct swapped_run {
  int status = 0;
  std::string text;
  std::map<std::string, double> verdicts;       // of every key_check, and the bytes that were streamed
  double seconds = 0;                           // of the host, start-up included
  std::map<std::string, std::string> resolved;  // the implementation of each unit
  double cycles_of_rtl = 0;
  double of_own = 0;
  double latency_of_keys = 0;  // of all checks
};

swapped_run run(const std::string& arguments, const std::string& testbench = "rkey_reuse") {
  const std::string folder = ::testing::TempDir() + "hcasim_swap_" + std::to_string(getpid());
  const std::string command =
      std::string(places::program) + " run " + testbench + " --no-trace --force -o " + folder + " " + arguments + " 2>&1";
  swapped_run o;
  const auto begin = std::chrono::steady_clock::now();
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (fgets(part.data(), part.size(), pipe)) o.text += part.data();
  o.status = pclose(pipe);
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::ifstream file(folder + "/result.json");
  if (file) {
    const auto result = nlohmann::json::parse(file);
    for (const auto& [node, its] : result.at("description").items()) {
      if (!its.is_object() || !its.contains("hca")) continue;
      for (const auto& [unit, knobs] : its["hca"].items()) {
        if (knobs.is_object() && knobs.contains("implementation"))
          o.resolved[node + ".hca." + unit] = knobs["implementation"].get<std::string>();
      }
    }
    for (const auto& [name, statistics] : result.at("statistics").items()) {
      if (statistics.contains("rtl_cycles")) o.cycles_of_rtl += in_whole_run(result, name, "rtl_cycles");
      if (statistics.contains("mine")) o.of_own += in_whole_run(result, name, "mine");
      if (!name.ends_with("key_check")) continue;
      for (const char* side : {"local_latency", "remote_latency"}) o.latency_of_keys += in_whole_run(result, name, side);
      for (const auto& [statistic, s] : statistics.items()) {
        const bool of_verdicts =
            (statistic.starts_with("local_") || statistic.starts_with("remote_")) && !statistic.ends_with("latency");
        if (of_verdicts || statistic == "drains") o.verdicts[name + "." + statistic] = in_whole_run(result, name, statistic);
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
  const swapped_run model = run("");
  ASSERT_EQ(model.status, 0) << model.text;
  ASSERT_GE(model.verdicts.size(), 32U);
  for (const std::string& mix :
       {rtl({"doorbell"}), rtl({"key_check"}), rtl({"page_walker"}), rtl({"mrc_cache"}), rtl({"extent_cache", "cqc_cache"}),
        rtl({"qpc_cache"}),
        rtl({"doorbell", "key_check", "page_walker", "qpc_cache", "mrc_cache", "extent_cache", "cqc_cache"})}) {
    const swapped_run o = run(mix);
    EXPECT_EQ(o.status, 0) << mix << "\n" << o.text;
    EXPECT_NE(o.text.find("passed"), std::string::npos) << o.text;
    EXPECT_EQ(o.text.find("differ"), std::string::npos) << o.text;
    EXPECT_EQ(o.verdicts, model.verdicts) << mix;
    std::printf("%.2f times the host time of the models:%s\n", o.seconds / model.seconds, mix.c_str());
  }
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Gaps and hold times change with every model in the system. The sequence of items does not.
std::vector<std::string> without_times(std::vector<std::string> lines, bool holds) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::size_t end = 0;
    const std::uint64_t first = std::stoull(lines[i], &end, 16);
    lines[i] = std::to_string(first & ~(holds ? 0xffffffff00U : 0xffff00U)) + lines[i].substr(end);
  }
  return lines;
}

// The stream at a unit's boundary in a system run is the one in traces/streams, and model and RTL answer this stream alike.
// HCASIM_UPDATE_GOLDEN writes those files anew.
class stream_of : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(stream_of, in_a_system_run_and_replayed) {
  const std::string unit = GetParam().first, bench = GetParam().second;
  const std::string kept = std::string(places::source) + "/traces/streams/" + bench + ".stream";
  const bool update = std::getenv("HCASIM_UPDATE_GOLDEN") != nullptr;
  const std::string file = update ? kept : ::testing::TempDir() + "swap_" + unit + std::to_string(getpid()) + ".stream";
  const swapped_run recorded = run("--length '256 KiB' --record-stream node1.hca." + unit + "=" + file);
  EXPECT_EQ(recorded.status, 0) << recorded.text;
  EXPECT_NE(recorded.text.find(" items, hcasim run lockstep --stream " + file), std::string::npos) << recorded.text;
  const swapped_run replayed = run("--stream " + file, "lockstep");
  EXPECT_EQ(replayed.status, 0) << replayed.text;
  EXPECT_NE(replayed.text.find("passed"), std::string::npos) << replayed.text;

  const std::vector<std::string> lines = lines_of(file);
  const bool holds = unit == "key_check" || unit.ends_with("_cache");
  ASSERT_GT(lines.size(), 50U);
  EXPECT_EQ(without_times(lines, holds), without_times(lines_of(kept), holds));
  if (unit == "key_check") {
    // The stream has every check and drain that the unit has counted.
    double counted = 0, items = 0, contexts = 0;
    for (const auto& [name, n] : recorded.verdicts) counted += name.find("node1.") != std::string::npos ? n : 0;
    for (std::size_t i = 1; i < lines.size(); ++i) ++((std::stoull(lines[i], nullptr, 16) & 0xff) <= 2 ? items : contexts);
    EXPECT_EQ(items, counted);
    EXPECT_GE(contexts, 5);
  }
  if (update) return;
  const std::string again = file + "_again";
  EXPECT_EQ(run("--length '256 KiB' --record-stream node1.hca." + unit + "=" + again).status, 0);
  EXPECT_EQ(lines_of(again), lines);
  std::filesystem::remove(file);
  std::filesystem::remove(again);
}

INSTANTIATE_TEST_SUITE_P(swap, stream_of,
                         ::testing::Values(std::pair("doorbell", "doorbell"), std::pair("key_check", "key_check"),
                                           std::pair("page_walker", "page_walker"), std::pair("mrc_cache", "context_cache"),
                                           std::pair("qpc_cache", "qpc_cache")),
                         [](const auto& i) { return i.param.first; });

// ---- units in shared objects

std::string object_of(const std::string& unit) {
  return std::string(HCASIM_OWN_UNITS) + "/libown_" + unit + ".so";
}

TEST(swap, a_unit_in_a_shared_object_gives_the_same_bytes_and_verdicts) {
  const swapped_run model = run("");
  for (const auto& [unit, object] : {std::pair("key_check", "key_check"), std::pair("mrc_cache", "context_cache")}) {
    // Both adapters have it from one object.
    const swapped_run o = run("--set 'node*.hca." + std::string(unit) + ".implementation=" + object_of(object) + "'");
    EXPECT_EQ(o.status, 0) << o.text;
    EXPECT_EQ(o.verdicts, model.verdicts) << unit;
    EXPECT_GT(o.cycles_of_rtl, 0) << "it is RTL that ran";
    EXPECT_EQ(o.resolved.at(std::string("node1.hca.") + unit), object_of(object));
  }
}

// A unit in a shared object uses the program's classes, and takes over only its own boundary.
TEST(swap, a_whole_unit_in_a_shared_object_takes_the_place_of_completion) {
  const swapped_run model = run("");
  const swapped_run own = run("--set 'node*.hca.completion.implementation=" + object_of("completion") + "'");
  EXPECT_EQ(own.status, 0) << own.text;
  EXPECT_EQ(own.verdicts, model.verdicts);
  EXPECT_GT(own.of_own, 100);
  const swapped_run rtl_writes = run(rtl({"completion"}));
  EXPECT_EQ(rtl_writes.status, 0) << rtl_writes.text;
  EXPECT_EQ(rtl_writes.verdicts, model.verdicts);
  EXPECT_GT(rtl_writes.cycles_of_rtl, 100);
}

TEST(swap, a_whole_unit_in_a_shared_object_takes_the_place_of_the_dma_engine) {
  const swapped_run model = run("");
  const swapped_run own = run("--set 'node*.hca.dma_engine.implementation=" + object_of("dma_engine") + "'");
  EXPECT_EQ(own.status, 0) << own.text;
  EXPECT_EQ(own.verdicts, model.verdicts);
  EXPECT_GT(own.of_own, 0) << "its own statistic";
  EXPECT_EQ(own.resolved.at("node1.hca.dma_engine"), object_of("dma_engine"));
  // A DMA engine brings sockets of its own, because the program has no shell for RTL in its place.
  const swapped_run design = run("--set 'node0.hca.dma_engine.implementation=" + object_of("key_check") + "'");
  EXPECT_EQ(WEXITSTATUS(design.status), 2) << design.text;
}

TEST(swap, a_relative_path_in_a_description_is_relative_to_it) {
  const std::string folder = ::testing::TempDir() + "described" + std::to_string(getpid());
  std::filesystem::create_directories(folder + "/rtl");
  std::filesystem::copy_file(object_of("key_check"), folder + "/rtl/libkeys.so",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder + "/mine.yaml")
      << "testbench: rkey_reuse\nnode0:\n  hca:\n    key_check:\n      implementation: rtl/libkeys.so\n"
         "parameters:\n  length: 64 KiB\n";
  const swapped_run o = run("", folder + "/mine.yaml");
  EXPECT_EQ(o.status, 0) << o.text;
  const std::string whole = std::filesystem::path(folder + "/rtl/libkeys.so").lexically_normal();
  EXPECT_EQ(o.resolved.at("node0.hca.key_check"), whole);
  EXPECT_GT(o.cycles_of_rtl, 0);
  std::filesystem::remove_all(folder);
}

TEST(swap, a_file_that_is_not_this_unit_is_bad_input) {
  const auto refused = [](const std::string& what, const std::string& why) {
    const swapped_run o = run("--set node1.hca.key_check.implementation=" + what);
    EXPECT_EQ(WEXITSTATUS(o.status), 2) << o.text;
    EXPECT_NE(o.text.find(why), std::string::npos) << o.text;
  };
  refused("rlt", "'rlt' is not one of model, rtl, instrumented, covered, and no path; did you mean 'rtl'?");
  refused("./nowhere.so", "/nowhere.so is not there");
  refused(std::string(places::program), "key_check.implementation: " + std::string(places::program));
  refused(object_of("context_cache"), " holds a unit of kind context_cache, one of kind key_check is needed here");
  refused("/dev/null", " is not a file; name a shared object");
  // The knobs of the shell are checked for any unit behind the shell.
  refused(object_of("key_check") + " --set 'node1.hca.key_check.depth=7 cycles'",
          "key_check: the RTL is built for depth: 6 cycles");
}

// All transfers are late by chance, and none is lost or seen too early.
TEST(swap, every_unit_stands_stalls_and_storms) {
  std::string how;
  for (const char* u :
       {"doorbell", "key_check", "page_walker", "qpc_cache", "mrc_cache", "extent_cache", "cqc_cache", "completion"}) {
    const std::string knob = std::string(" --set 'node*.hca.") + u;
    how += knob + ".implementation=rtl'" + knob + ".rtl.stall=0.3'" + knob + ".rtl.storms=true'" + knob + ".rtl.check_x=true'";
  }
  const std::string some = "--length '256 KiB'";
  const swapped_run reuse = run(some + how);
  EXPECT_EQ(reuse.status, 0) << reuse.text;
  EXPECT_EQ(reuse.verdicts, run(some).verdicts);
  const int seeds = std::getenv("HCASIM_FULL") ? 50 : 2;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::string n = std::to_string(seed);
    const swapped_run traffic = run("--operations 500 --seed " + n + how, "random_traffic");
    EXPECT_EQ(traffic.status, 0) << "seed " << n << "\n" << traffic.text;
  }
}

TEST(swap, a_unit_counts_the_coverage_of_its_rtl) {
  const std::string folder = ::testing::TempDir() + "coverage" + std::to_string(getpid());
  const std::string port = "--set 'node*.hca.completion.";
  const swapped_run o = run("--length '64 KiB' " + port + "implementation=" HCASIM_OWN_UNITS "/libcovered_port.so' " + port +
                            "rtl.coverage=" + folder + "' " + port + "rtl.trace=" + folder + "'");
  EXPECT_EQ(o.status, 0) << o.text;
  for (const char* node : {"node0", "node1"}) {
    rtl::coverage_file c;
    c.add(folder + "/system." + node + ".hca.completion.dat");
    EXPECT_EQ(c.of("line").ratio(), 1) << "each line of the small RTL runs";
    EXPECT_GT(c.of("toggle").ratio(), 0.8);
    EXPECT_GT(lines_of(folder + "/system." + node + ".hca.completion.vcd").size(), 100U) << "with a waveform beside it";
  }
  std::filesystem::remove_all(folder);
}

// Points of a study have a folder each, and trials of a what-if leave the run's files alone.
TEST(swap, files_of_rtl_in_runs_beside_each_other_are_apart) {
  namespace fs = std::filesystem;
  const fs::path folder = ::testing::TempDir() + "apart" + std::to_string(getpid());
  fs::create_directories(folder);
  const std::string unit = "node1.hca.key_check";
  const auto waves = [&](const std::string& part) { return folder / part / ("system." + unit + ".vcd"); };
  std::ofstream(folder / "s.yaml") << "base: {testbench: ping, " << unit
                                   << ": {implementation: rtl, rtl: {trace: " << (folder / "waves").string() << "}}}\n"
                                   << "axes: {way: {knob: link.propagation, values: [10 ns, 500 ns]}}\n"
                                   << "metrics: {t: {figure: WRITE}}\n";
  const outcome sweep = run_program(places::program, fmt::format("sweep {0}/s.yaml -o {0}/out", folder.string()));
  EXPECT_EQ(sweep.status, 0) << sweep.text;
  EXPECT_NE(file_content(waves("waves/point_1")), file_content(waves("waves/point_2")));
  EXPECT_GT(lines_of(waves("waves/point_1").string()).size(), 100U);
  EXPECT_FALSE(fs::exists(waves("waves")));
  const auto tried = [&](const std::string& part, const std::string& more) {
    const outcome o = run_program(
        places::program,
        fmt::format("run ping --no-trace -o {0}/{1}_out --set {2}.implementation=rtl --set {2}.rtl.trace={0}/{1} {3}",
                    folder.string(), part, unit, more));
    EXPECT_EQ(o.status, 0) << o.text;
    return file_content(waves(part));
  };
  EXPECT_EQ(tried("tried", "--what-if link.propagation"), tried("plain", ""));
  fs::remove_all(folder);
}

TEST(swap, the_ways_rtl_is_run_are_knobs) {
  const std::string folder = ::testing::TempDir() + "knobs" + std::to_string(getpid());
  const std::string how = "--set 'node*.hca.key_check.implementation=rtl' --set 'node*.hca.key_check.rtl.";
  const swapped_run plain = run("--length '64 KiB' " + how + "check_x=true'");
  EXPECT_EQ(plain.status, 0) << plain.text;
  const swapped_run slow = run("--length '64 KiB' " + how + "stall=0.5' " + how + "storms=true'");
  EXPECT_EQ(slow.status, 0) << slow.text;
  EXPECT_EQ(slow.verdicts, plain.verdicts);
  EXPECT_GT(slow.latency_of_keys, 1.2 * plain.latency_of_keys) << "stalls show in what a check takes";
  const swapped_run watched = run("--length '64 KiB' " + how + "trace=" + folder + "' " + how + "trace_from=5 us'");
  EXPECT_EQ(watched.status, 0) << watched.text;
  EXPECT_EQ(watched.latency_of_keys, plain.latency_of_keys) << "to watch changes nothing";
  for (const char* node : {"node0", "node1"}) {
    const std::string file = folder + "/system." + node + ".hca.key_check";
    const std::vector<std::string> vcd = lines_of(file + ".vcd");
    ASSERT_GT(vcd.size(), 1000U);
    EXPECT_TRUE(
        std::any_of(vcd.begin(), vcd.end(), [](const std::string& l) { return l.find("u_epochs") != std::string::npos; }));
    const auto begin = std::find_if(vcd.begin(), vcd.end(), [](const std::string& l) { return l.starts_with("#"); });
    EXPECT_GE(std::stoull(begin->substr(1)), 4'990'000U) << "trace_from";
  }
  const swapped_run as_fst = run("--length '64 KiB' " + how + "trace=" + folder + "/*.fst' " + how + "trace_from=5 us'");
  EXPECT_EQ(as_fst.status, 0) << as_fst.text;
  const std::string wave = folder + "/system.node0.hca.key_check.";
  std::map<std::string, std::vector<std::string>> shown;
  for (const char* format : {"vcd", "fst"}) {
    const outcome o = run_program(places::program, "trace " + wave + format + " " + folder + "/same_" + format + ".vcd");
    ASSERT_EQ(o.status, 0) << o.text;
    std::vector<std::string>& lines = shown[format] = lines_of(folder + "/same_" + format + ".vcd");
    const auto is_time = [](const std::string& l) { return l.starts_with("#"); };
    for (auto at = std::find_if(lines.begin(), lines.end(), is_time); at != lines.end();) {
      const auto end = std::find_if(at + 1, lines.end(), is_time);
      std::sort(at + 1, end);  // changes at one time have any order
      at = end;
    }
    EXPECT_GT(shown[format].size(), 1000U);
  }
  EXPECT_TRUE(shown["fst"] == shown["vcd"]) << "both formats have the same signals and changes";
  EXPECT_LT(3 * std::filesystem::file_size(wave + "fst"), std::filesystem::file_size(wave + "vcd"));
  std::filesystem::remove_all(folder);
  const swapped_run none = run("--set node0.hca.key_check.rtl.stall=0.1");
  EXPECT_EQ(WEXITSTATUS(none.status), 2);
  EXPECT_NE(none.text.find("node0.hca.key_check.rtl.stall: has no effect while node0.hca.key_check.implementation is model"),
            std::string::npos)
      << none.text;
}

// The streams equal those of traces/streams, which were recorded alone.
TEST(swap, streams_of_several_units_are_recorded_in_one_run) {
  const std::string folder = ::testing::TempDir() + "swap_streams_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::vector<std::string> units = {"key_check", "page_walker", "qpc_cache"};
  std::string options = "--length '256 KiB'";
  for (const std::string& u : units) options += " --record-stream node1.hca." + u + "=" + folder + "/" + u;
  const swapped_run recorded = run(options);
  EXPECT_EQ(recorded.status, 0) << recorded.text;
  for (const std::string& u : units) {
    EXPECT_NE(recorded.text.find(" items, hcasim run lockstep --stream " + folder + "/" + u), std::string::npos)
        << recorded.text;
    const bool holds = u != "page_walker";
    EXPECT_EQ(without_times(lines_of(folder + "/" + u), holds),
              without_times(lines_of(std::string(places::source) + "/traces/streams/" + u + ".stream"), holds))
        << u;
  }
  std::filesystem::remove_all(folder);
}

TEST(swap, two_streams_of_one_unit_or_in_one_file_are_refused) {
  const swapped_run unit = run("--record-stream node0.hca.key_check=a --record-stream node0.hca.key_check=b");
  EXPECT_EQ(WEXITSTATUS(unit.status), 2);
  EXPECT_NE(
      unit.text.find("--record-stream node0.hca.key_check=b: node0.hca.key_check is recorded into a already; name each unit "
                     "once"),
      std::string::npos)
      << unit.text;
  const swapped_run file = run("--record-stream node0.hca.key_check=a --record-stream node0.hca.page_walker=./a");
  EXPECT_EQ(WEXITSTATUS(file.status), 2);
  EXPECT_NE(
      file.text.find("--record-stream node0.hca.page_walker=./a: ./a is the file of node0.hca.key_check already; name a file "
                     "for each unit"),
      std::string::npos)
      << file.text;
}

TEST(swap, a_stream_of_no_unit_is_refused) {
  EXPECT_NE(run("--record-stream node0.hca.port=x").text.find("'node0.hca.port' is not a unit whose stream can be recorded"),
            std::string::npos);
  EXPECT_NE(run("--record-stream x").text.find("--record-stream x: write UNIT=FILE"), std::string::npos);
}

TEST(swap, what_the_rtl_is_not_built_for_is_refused_by_name) {
  const auto error_of = [](const std::string& arguments) {
    const swapped_run o = run(arguments);
    EXPECT_NE(o.status, 0);
    return o.text;
  };
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
