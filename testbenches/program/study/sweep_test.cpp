// Studies through a built program: output, survived failures, and refusals.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/sweep_study.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

class sweep : public sweep_study {
 protected:
  // Returns the text of a dry run, without what depends on this machine.
  static std::string plan(const std::string& arguments) {
    const outcome o = hcasim("sweep " + arguments + " --dry-run");
    EXPECT_EQ(o.status, 0);
    static const std::regex cost("took [0-9.]+ s and [0-9]+ MiB; like it, all take [0-9:]+, ([0-9]+ at once) with [0-9]+ MiB");
    return std::regex_replace(o.text, cost, "took T; $1");
  }
};

const std::string two_axes =
    "  latency_set: {knob: node0.pcie.latency, values: [100 ns, 200 ns]}\n"
    "  ticks: {knob: parameters.ticks, range: {from: 10, to: 30, step: 10}}\n";

TEST_F(sweep, every_point_is_a_row_with_all_it_found_out) {
  file("s.yaml", study(two_axes,
                       "  latency: {figure: latency, unit: ns}\n"
                       "  ticked: {statistic: node0.key_check.operations}\n"
                       "  gap: {statistic: node0.key_check.gap, of: max}\n"
                       "  ways: {row: node1, column: ways}\n"
                       "  twice: {formula: '(latency + latency) / max(1, 2) * ticked - -ticked'}\n"
                       "  nothing: {formula: latency / (ticked - ticked)}\n"));
  const outcome o = hcasim("sweep s.yaml -o out");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("latency_set  ticks  latency [ns]  ticked"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("6 of 6 points, 6 passed"), std::string::npos) << o.text;
  const rows r =
      query("out", "SELECT id, status, latency_set, ticks, latency, ticked, ways, twice, \"nothing\" FROM results ORDER BY id");
  ASSERT_EQ(r.size(), 6U);
  EXPECT_EQ(r[0], (std::vector<std::string>{"1", "passed", "100 ns", "10", "100", "10", "4", "1010.0", ""}));
  EXPECT_EQ(r[5], (std::vector<std::string>{"6", "passed", "200 ns", "30", "200", "30", "4", "6030.0", ""}));
  const rows p = query("out",
                       "SELECT seed, version, json_extract(description, '$.node0.pcie.latency'), "
                       "json_extract(statistics, '$.\"node0.key_check\".gap.count') FROM points WHERE id = 4");
  EXPECT_EQ(p[0][0], "1");
  EXPECT_FALSE(p[0][1].empty());
  EXPECT_EQ(p[0][2], "200 ns");
  EXPECT_EQ(p[0][3], "10");
  EXPECT_EQ(query("out", "SELECT measure FROM statistics WHERE unit = 'node0.key_check' AND name = 'gap'")[0][0], "ns");
  EXPECT_EQ(query("out", "SELECT count(*) FROM hosts WHERE json_extract(host, '$.wall_seconds') > 0")[0][0], "6");
  for (const auto& e : fs::directory_iterator("out")) EXPECT_EQ(e.path().filename(), result_file::file_name);
}

TEST_F(sweep, the_row_is_what_a_run_of_the_point_finds) {
  file("s.yaml", study(two_axes));
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  ASSERT_EQ(hcasim("run s.yaml --point 5 -o five").status, 0);
  const auto run = ordered_json::parse(file_content("five/result.json"));
  const rows p = query("out", "SELECT figures, description, statistics FROM points WHERE id = 5");
  EXPECT_EQ(ordered_json::parse(p[0][0])["latency"], run["figures"]["latency"]["value"]);
  EXPECT_EQ(ordered_json::parse(p[0][1]), run["description"]);
  EXPECT_EQ(ordered_json::parse(p[0][2])["node0.key_check"]["operations"],
            run["statistics"]["node0.key_check"]["operations"]["value"]);
  EXPECT_EQ(hcasim("run s.yaml --point 7 -o seven").text, "hcasim: --point 7: 's.yaml' has the points 1 to 6\n");
  EXPECT_EQ(
      hcasim("run s.yaml -o eight").text,
      "hcasim: 's.yaml' is a study; 'hcasim sweep s.yaml -o DIR' runs it, 'hcasim run s.yaml --point N' one of its points\n");
}

TEST_F(sweep, every_kind_of_axis) {
  fs::create_directories("presets");
  file("presets/small.yaml", "hca: {mrc_cache: {ways: 2}}\n");
  file("presets/large.yaml", "hca: {mrc_cache: {ways: 32}}\n");
  ::setenv("HCASIM_PRESETS", (folder() / "presets").c_str(), 1);
  file("s.yaml", study("  device: {presets: [small, large]}\n"
                       "  size: {knob: 'node*.hca.mrc_cache.size', log: {from: 1 KiB, to: 1 MiB, factor: 32}}\n"
                       "  both: {zip: {node0.hca.depth: [2 cycles, 4 cycles], link.rate: {range: {from: 10 Gb/s, to: 20 Gb/s, "
                       "step: 10 Gb/s}}}, "
                       "labels: [2, slow]}\n"
                       "  seed: {knob: seed, values: [3, 4]}\n"));
  const outcome o = hcasim("sweep s.yaml -o out --json");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_EQ(ordered_json::parse(o.text)["passed"], 24);
  const rows r = query("out", "SELECT device, size, both, seed FROM results ORDER BY id");
  EXPECT_EQ(r[0], (std::vector<std::string>{"small", "1 KiB", "2", "3"}));
  EXPECT_EQ(r[1], (std::vector<std::string>{"small", "1 KiB", "2", "4"}));
  EXPECT_EQ(r[2][2], "slow");
  EXPECT_EQ(r[4][1], "32 KiB");
  EXPECT_EQ(r[23], (std::vector<std::string>{"large", "1 MiB", "slow", "4"}));
  const rows d =
      query("out",
            "SELECT seed, json_extract(description, '$.node1.hca.mrc_cache.ways'), json_extract(description, '$.link.rate'), "
            "json_extract(description, '$.node0.hca.depth') FROM points WHERE id IN (1, 24) ORDER BY id");
  EXPECT_EQ(d[0], (std::vector<std::string>{"3", "2", "10 Gb/s", "2 cycles"}));
  EXPECT_EQ(d[1], (std::vector<std::string>{"4", "32", "20 Gb/s", "4 cycles"}));
  const rows a = query("out", "SELECT unit, number FROM axes WHERE name = 'size' ORDER BY value_index");
  EXPECT_EQ(a[1], (std::vector<std::string>{"B", "32768.0"}));
  ::unsetenv("HCASIM_PRESETS");
}

TEST_F(sweep, a_point_that_fails_is_reported_and_stops_no_other) {
  file("s.yaml", study("  how: {zip: {parameters.check_fails: ['false', 'true', 'false', 'false', 'false'], parameters.crash: "
                       "['false', 'false', 'true', 'false', "
                       "'false'], parameters.hang: ['false', 'false', 'false', 'true', 'false'], link.loss: [0, 0, 0, 0, 1]}, "
                       "labels: [good, fails, crashes, "
                       "hangs, refused]}\n"
                       "  seed: {knob: seed, values: [7, 8]}\n"));
  const outcome o = hcasim("sweep s.yaml -o out --time-limit '700 ms'");
  EXPECT_EQ(o.status, 1) << o.text;
  EXPECT_NE(
      o.text.find("point 3 failed (how = fails, seed = 7; seed 7): the check failed\n  again: hcasim run s.yaml --point 3\n"),
      std::string::npos)
      << o.text;
  EXPECT_NE(o.text.find("point 6 crashed (how = crashes, seed = 8; seed 8): killed by signal 11 (Segmentation fault); it said: "
                        "about to crash\n"),
            std::string::npos)
      << o.text;
  EXPECT_NE(o.text.find("(--time-limit)"), std::string::npos);
  EXPECT_NE(
      o.text.find("point 9 refused (how = refused, seed = 7; seed 7): link.loss: with every packet lost nothing ever ends"),
      std::string::npos)
      << o.text;
  EXPECT_NE(o.text.find("10 of 10 points, 2 passed"), std::string::npos) << o.text;
  const rows r = query("out", "SELECT status FROM points ORDER BY id");
  const char* expected[] = {"passed", "failed", "crashed", "timeout", "refused"};
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(r[i][0], expected[i / 2]) << i;
  EXPECT_EQ(hcasim("run s.yaml --point 3 -o again").status, 1);
  // Resuming leaves them alone; --retry runs them again.
  const outcome resumed = hcasim("sweep s.yaml -o out --resume");
  EXPECT_NE(resumed.text.find("; now 0 in"), std::string::npos) << resumed.text;
  const outcome retried = hcasim("sweep s.yaml -o out --resume --retry --time-limit '300 ms'");
  EXPECT_NE(retried.text.find("; now 8 in"), std::string::npos) << retried.text;
}

TEST_F(sweep, same_seed_same_rows_however_many_at_once) {
  const std::string axes =
      "  ticks: {knob: parameters.ticks, log: {from: 1, to: 20000, factor: 3}}\n  seed: {knob: seed, values: [1, 2]}\n";
  file("s.yaml", study(axes));
  ASSERT_EQ(hcasim("sweep s.yaml -o one -j 1").status, 0);
  ASSERT_EQ(hcasim("sweep s.yaml -o three -j 3").status, 0);
  EXPECT_EQ(points("one"), points("three"));
  EXPECT_EQ(points("one").size(), 20U);
}

// Starts a sweep of a while and returns its process once some points are done.
pid_t begin_sweep(const fs::path& folder, std::size_t wanted, const char* at = nullptr) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stdout);
    std::freopen((folder.string() + ".said").c_str(), "w", stderr);
    ::execl(places::selftest, "hcasim", "sweep", "s.yaml", "-o", folder.c_str(), "-j", "2", at ? "--at" : nullptr, at, nullptr);
    ::_exit(99);
  }
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    try {
      result_file f = result_file::open(folder / result_file::file_name, false);
      if (f.finished(false).size() >= wanted) break;
    } catch (const input_error&) {  // not there yet
    }
  }
  return child;
}

std::string slow_axes() {
  return "  seed: {knob: seed, range: {from: 1, to: 24, step: 1}}\n";
}

TEST_F(sweep, a_kill_loses_nothing_that_was_finished) {
  file("s.yaml", study(slow_axes(), "  latency: {figure: latency}\n", "{ticks: 150000}"));
  ASSERT_EQ(hcasim("sweep s.yaml -o whole").status, 0);
  const pid_t child = begin_sweep("out", 3);
  signal_process(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was still at work";
  const rows before = points("out");
  EXPECT_GE(before.size(), 3U);
  EXPECT_LT(before.size(), 24U);
  EXPECT_EQ(hcasim("sweep s.yaml -o out").text,
            "hcasim: 'out' already holds a study's results; add --resume to go on with it or choose another folder with -o\n");
  const outcome o = hcasim("sweep s.yaml -o out --resume");
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find(fmt::format("; now {} in", 24 - before.size())), std::string::npos) << o.text;
  EXPECT_EQ(points("out"), points("whole"));
  for (const auto& e : fs::directory_iterator("out")) EXPECT_EQ(e.path().filename(), result_file::file_name);
}

TEST_F(sweep, an_interrupt_ends_in_order) {
  file("s.yaml", study("  ticks: {knob: parameters.ticks, values: [150000, 150001]}\n" + slow_axes()));
  const pid_t child = begin_sweep("out", 2, "ticks=150000");
  signal_process(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  std::ostringstream said;
  said << std::ifstream("out.said").rdbuf();
  EXPECT_NE(said.str().find("interrupted; 'hcasim sweep s.yaml -o out --at \"ticks=150000\" --resume' goes on\n"),
            std::string::npos)
      << said.str();
  EXPECT_GE(points("out").size(), 2U);
  EXPECT_LT(points("out").size(), 24U);
  for (const auto& e : fs::directory_iterator("out")) EXPECT_EQ(e.path().filename(), result_file::file_name);
  EXPECT_EQ(hcasim("sweep s.yaml -o out --at ticks=150000 --resume").status, 0);
  EXPECT_EQ(points("out").size(), 24U);
}

TEST_F(sweep, a_part_of_the_points_may_be_run_first) {
  file("s.yaml", study(two_axes));
  ASSERT_EQ(hcasim("sweep s.yaml -o whole").status, 0);
  EXPECT_EQ(plan("s.yaml --at ticks=10 --at ticks=30 --at 'latency_set=200 ns' -j 8"),
            "latency_set: 2 values, 100 ns to 200 ns\nticks: 3 values, 10 to 30\n2 points\npoint 4 took T; 2 at once\n");
  ASSERT_EQ(hcasim("sweep s.yaml -o out --at ticks=10 --at ticks=30 --at 'latency_set=200 ns'").status, 0);
  EXPECT_EQ(query("out", "SELECT id FROM points ORDER BY id"), (rows{{"4"}, {"6"}}));
  ASSERT_EQ(hcasim("sweep s.yaml -o out --at ticks=10 --resume").status, 0);
  EXPECT_EQ(query("out", "SELECT id FROM points ORDER BY id"), (rows{{"1"}, {"4"}, {"6"}}));
  ASSERT_EQ(hcasim("sweep s.yaml -o out --resume").status, 0);
  EXPECT_EQ(points("out"), points("whole"));
  refused("s.yaml -o new --at tick=10", "--at tick=10: there is no axis 'tick'; did you mean 'ticks'?");
  refused("s.yaml -o new --at ticks=11", "--at ticks=11: there is no value '11'; did you mean '10'?");
  refused("s.yaml -o new --at ticks", "--at ticks: an axis and one of its values are expected, --at AXIS=VALUE");
  EXPECT_FALSE(fs::exists("new"));
}

TEST_F(sweep, a_changed_study_keeps_its_rows_or_is_refused) {
  file("s.yaml", study(two_axes));
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  file("s.yaml", study(two_axes, "  operations: {statistic: node0.key_check.operations}\n"));
  ASSERT_EQ(hcasim("sweep s.yaml -o out --resume").status, 0);
  EXPECT_EQ(query("out", "SELECT operations FROM results WHERE id = 6")[0][0], "30");
  file("s.yaml", study("  ticks: {knob: parameters.ticks, values: [1]}\n"));
  refused("s.yaml -o out --resume",
          "'out/results.sqlite' is of another study, or the base or the axes of 's.yaml' have changed; choose another folder "
          "with -o");
}

TEST_F(sweep, a_metric_that_is_not_there_stops_at_once_and_leaves_nothing) {
  file("s.yaml", study(two_axes, "  latency: {figure: latnecy}\n"));
  refused("s.yaml -o out", "s.yaml:10:3: metrics.latency: the run has no figure 'latnecy'; did you mean 'latency'?");
  file("s.yaml", study(two_axes, "  gap: {statistic: node0.key_check.gap, of: p98}\n"));
  refused("s.yaml -o out2", "s.yaml:10:3: metrics.gap: the run has no value 'p98'; did you mean 'p90'?");
  file("s.yaml", study(two_axes, "  busy: {resource: node0.key_check.busy}\n"));
  refused("s.yaml -o out2",
          "s.yaml:10:3: metrics.busy: the run has no resource 'node0.key_check.busy'; there are no resources");
  EXPECT_FALSE(fs::exists("out2")) << "no point has a row";
  file("s.yaml", study(two_axes));
  EXPECT_EQ(hcasim("sweep s.yaml -o out").status, 0) << "nothing was left behind";
  EXPECT_EQ(points("out").size(), 6U);
}

TEST_F(sweep, a_metric_that_is_not_there_is_found_before_the_second_point) {
  // Each tick of the other points would take longer than the test may.
  const std::string long_axis = "  ticks: {knob: parameters.ticks, values: [10, 10000000, 9999999, 9999998]}\n";
  const auto begin = std::chrono::steady_clock::now();
  file("s.yaml", study(long_axis, "  latency: {figure: latnecy}\n"));
  refused("s.yaml -o out -j 4", "s.yaml:9:3: metrics.latency: the run has no figure 'latnecy'; did you mean 'latency'?");
  file("s.yaml", study(long_axis, "  ways: {row: node3, column: ways}\n"));
  refused("s.yaml -o out -j 4", "s.yaml:9:3: metrics.ways: the run has no row 'node3'; did you mean 'node0'?");
  // A statistic is found before its point begins to simulate.
  file("s.yaml",
       study("  ticks: {knob: parameters.ticks, values: [10000000]}\n", "  o: {statistic: node0.key_check.oprations}\n"));
  refused("s.yaml -o out -j 4", "s.yaml:9:3: metrics.o: the run has no statistic 'oprations'; did you mean 'operations'?");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_FALSE(fs::exists("out"));
}

TEST_F(sweep, bad_studies) {
  const auto bad = [&](const std::string& axes, const std::string& message,
                       const std::string& metrics = "  latency: {figure: latency}\n") {
    file("s.yaml", study(axes, metrics));
    refused("s.yaml -o out", message);
    EXPECT_FALSE(fs::exists("out"));
  };
  bad("  a: {knob: node0.hca.mrc_cache.wyas, values: [1]}\n",
      "s.yaml:7:13: node0.hca.mrc_cache.wyas: unknown key 'wyas'; did you mean 'ways'?");
  bad("  a: {knob: node0.hca, values: [1]}\n",
      "s.yaml:7:13: node0.hca: a knob is expected here, not a group of settings; name one of mrc_cache, qpc_cache, clock, "
      "depth");
  bad("  a: {knob: node0.hca.mrc_cache.ways, values: [1, 100]}\n",
      "s.yaml:7:51: node0.hca.mrc_cache.ways: 100 is out of range; allowed is 1 to 64");
  bad("  a: {knob: node0.pcie.latency, values: [5]}\n",
      "s.yaml:7:42: node0.pcie.latency: '5' has no unit; a time is in ps, ns, us, ms or s: write for example '5 ns'");
  bad("  a: {knob: nodes, values: []}\n",
      "s.yaml:7:6: axes.a: the axis has no values, so the study has no points; give it at least one");
  bad("  a: {knob: nodes, range: {from: 3, to: 2, step: 1}}\n",
      "s.yaml:7:27: axes.a: the range is empty; 'to' must not be below 'from', and 'step' above 0");
  bad("  a: {knob: nodes, log: {from: 0, to: 2, factor: 2}}\n",
      "s.yaml:7:25: axes.a: the range is empty; 'from' must be above 0, 'to' not below it, and 'factor' above 1");
  bad("  a: {knob: nodes, range: {from: 1, to: 2}}\n",
      "s.yaml:7:27: axes.a: 'step' is missing; write {from: A, to: B, step: C}");
  bad("  a: {knob: node0.hca.mrc_cache.policy, range: {from: 1, to: 2, step: 1}}\n",
      "s.yaml:7:48: axes.a: node0.hca.mrc_cache.policy has no order; list its values");
  bad("  a: {knob: nodes, values: [1], valeus: [2]}\n",
      "s.yaml:7:33: axes.a.valeus: unknown key 'valeus'; did you mean 'values'?");
  bad("  a: {knob: nodes}\n",
      "s.yaml:7:6: axes.a: one of values, range, log, presets, zip, sample, seeds or formula is needed");
  bad("  a: {values: [1]}\n", "s.yaml:7:6: axes.a.knob: which knob? add 'knob: PATH' ('hcasim params')");
  bad("  a: {knob: nodes, values: [1, 1]}\n", "s.yaml:7:6: axes.a: the value 1 is given twice; remove one");
  bad("  a: {knob: nodes, values: [1]}\n  b: {knob: nodes, values: [2]}\n",
      "s.yaml:8:13: axes.b: nodes is varied by two axes; remove one");
  bad("  a: {presets: [gneric]}\n",
      "s.yaml:7:17: axes.a: there is no preset 'gneric'; known names are: connect_ib, connectx3, connectx3_40, "
      "connectx3_fdr, connectx3_qdr, connectx4, connectx6_hdr, generic_100g, nfp6000, pair, star");
  bad("  a: {zip: {nodes: [1, 2], link.loss: [0]}}\n",
      "s.yaml:7:39: axes.a.zip.link.loss: 1 values, but the lines above have 2; make them equal");
  bad("  a b: {knob: nodes, values: [1]}\n", "s.yaml:7:3: axes.a b: 'a b' is not a name; use letters, digits and '_'");
  bad("  a: {knob: nodes, values: [1], labels: [x, y]}\n",
      "s.yaml:7:41: axes.a.labels: a list of 1 labels is expected, one for each value");
  bad(two_axes,
      "s.yaml:10:6: metrics.x: exactly one of figure, statistic, column (with row), resource, cost, explain, series or formula "
      "is needed",
      "  x: {unit: ns}\n");
  bad(two_axes, "s.yaml:10:6: metrics.x: '1 +': it ends too early", "  x: {formula: 1 +}\n");
  bad(two_axes,
      "s.yaml:10:6: metrics.x: 'y': there is no metric 'y' above this one, and no axis with numbers; known names are: "
      "latency_set, ticks",
      "  x: {formula: y}\n");
  bad(two_axes, "s.yaml:10:3: metrics.ticks: the name is taken; choose another", "  ticks: {figure: ticks}\n");
  bad(two_axes, "s.yaml:12:22: charts.line: there is no metric 'latnecy'; did you mean 'latency'?",
      "  latency: {figure: latency}\ncharts:\n  - {x: ticks, line: latnecy}\n");
  bad(two_axes, "s.yaml:12:9: charts.x: there is no axis 'tikcs'; did you mean 'ticks'?",
      "  latency: {figure: latency}\ncharts:\n  - {x: tikcs, line: latency}\n");
  bad(two_axes, "s.yaml:12:39: charts.series: there is no axis 'seed'; axes are: latency_set, ticks",
      "  latency: {figure: latency}\ncharts:\n  - {x: ticks, line: latency, series: seed}\n");
  bad("  a: {knob: parameters.ticks, range: {from: 1, to: 400, step: 1}}\n  seed: {knob: seed, range: {from: 1, to: 400, step: "
      "1}}\n",
      "the axes of 's.yaml' make 160000 points, more than 100000; make them shorter, or add --many if you mean it");
  EXPECT_EQ(plan("s.yaml --at seed=7 -j 3"),
            "a: 400 values, 1 to 400\nseed: 400 values, 1 to 400\n400 points\npoint 7 took T; 3 at once\n");
  file("s.yaml", "study: x\naxes: {}\n");
  refused("s.yaml -o out", "s.yaml:1:1: base: the study has no base: the description that its axes vary");
  file("s.yaml", study("", ""));
  refused("s.yaml -o out", "s.yaml:7:1: axes: an axis is 'name: {knob: PATH, values: [...]}'; at least one is needed");
  file("s.yaml", study(two_axes) + "axis: {}\n");
  refused("s.yaml -o out", "s.yaml:11:1: axis: unknown key 'axis'; did you mean 'axes'?");
  refused("missing.yaml -o out",
          "missing.yaml: cannot read 'missing.yaml': No such file or directory; check the path and its permissions");
  file("s.yaml", study(two_axes));
  refused("s.yaml", "where to? add -o DIR, a folder for the results");
  EXPECT_EQ(plan("s.yaml -j 1"),
            "latency_set: 2 values, 100 ns to 200 ns\nticks: 3 values, 10 to 30\n6 points\npoint 1 took T; 1 at once\n");
}

TEST_F(sweep, results_are_printed_for_other_programs) {
  file("s.yaml",
       "study: s\nbase: {testbench: count_ticks}\naxes:\n  name: {zip: {parameters.ticks: [10, 20], seed: [1, 2]}, labels: ['a "
       "\"b\"', "
       "'c, d']}\nmetrics:\n  latency: {figure: latency, unit: ns}\n  none: {formula: latency / (latency - latency)}\n");
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  const std::string latency = query("out", "SELECT latency FROM results WHERE id = 1")[0][0];
  EXPECT_EQ(hcasim("results out").text, fmt::format("id,status,name,latency,none\n1,passed,\"a \"\"b\"\"\",{0},\n"
                                                    "2,passed,\"c, d\",{0},\n",
                                                    latency));
  EXPECT_EQ(hcasim("results out --csv").text, hcasim("results out").text);
  const auto rows_of = ordered_json::parse(hcasim("results out --json").text);
  EXPECT_EQ(rows_of[1]["name"], "c, d");
  EXPECT_TRUE(rows_of[1]["latency"].is_number());
  EXPECT_TRUE(rows_of[1]["none"].is_null());
  EXPECT_EQ(hcasim("results out --table metrics").text, "position,name,title,unit\n0,latency,latency,ns\n1,none,none,\n");
  file("many.yaml", study("  ticks: {knob: parameters.ticks, range: {from: 1, to: 12, step: 1}}\n"));
  ASSERT_EQ(hcasim("sweep many.yaml -o many").status, 0);
  const auto points = ordered_json::parse(hcasim("results many --json").text);
  ASSERT_EQ(points.size(), 12U);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i]["id"], i + 1) << "in the order of numbers, not of texts";
  EXPECT_EQ(hcasim("results out --table metric").text,
            "hcasim: --table: 'out' has no table 'metric'; did you mean 'metrics'?\n");
  EXPECT_EQ(hcasim("results nowhere").text,
            "hcasim: there is no result file 'nowhere/results.sqlite'; 'hcasim sweep STUDY.yaml -o DIR' makes one\n");
}

// A reader of another project finds the rows that JSON has: numbers, texts, no values, a table without rows, and several pages.
TEST_F(sweep, results_are_written_as_parquet) {
  file(
      "s.yaml",
      "study: s\nbase: {testbench: count_ticks}\naxes:\n  ticks: {knob: parameters.ticks, range: {from: 1, to: 150, step: 1}}\n"
      "metrics:\n  latency: {figure: latency, unit: ns}\n  some: {formula: 1 / (latency - 100)}\n");
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  result_file::open("out/results.sqlite", true)
      .query("UPDATE points SET version = printf('%.*c', 10000, 'x')", [](const auto&) {});
  const fs::path build = fs::path(places::program).parent_path();
  for (const char* table : {"results", "points", "metrics", "goals"}) {
    ASSERT_EQ(
        run_program("sh", fmt::format("-c '{} results out --table {} --parquet > t.parquet'", places::selftest, table)).status,
        0);
    const outcome o = run_program("node", fmt::format("{}/testbenches/program/report/parquet_test.mjs {} t.parquet",
                                                      places::source, (build / "report/node_modules/hyparquet").string()));
    ASSERT_EQ(o.status, 0) << o.text << "\nnodejs and npm are in scripts/packages.txt";
    EXPECT_EQ(nlohmann::json::parse(o.text),
              nlohmann::json::parse(hcasim(fmt::format("results out --table {} --json", table)).text))
        << table;
    EXPECT_EQ(fs::file_size("t.parquet") > 1'500'000, std::string(table) == "points") << "pages end after a megabyte";
  }
}

TEST_F(sweep, a_plan_estimates_time_and_memory_from_one_point) {
  file("s.yaml", study("  ticks: {knob: parameters.ticks, values: [3000000, 10, 20, 30]}\n"));
  const auto planned = nlohmann::json::parse(hcasim("sweep s.yaml --dry-run --json -j 2").text);
  const double seconds = planned["trial"]["seconds"];
  const double memory = planned["trial"]["MiB"];
  EXPECT_GT(seconds, 0.05) << "three million ticks";
  EXPECT_DOUBLE_EQ(planned["estimate"]["seconds"], 2 * seconds) << "four points, two at once";
  EXPECT_DOUBLE_EQ(planned["estimate"]["MiB"], 2 * memory);
  EXPECT_GT(memory, 5);
  const auto in_temporary = [](const auto& e) { return e.path().filename().string().starts_with("hcasim_trial_"); };
  ::setenv("TMPDIR", ".", 1);
  EXPECT_EQ(hcasim("sweep s.yaml --dry-run --at ticks=10").status, 0);
  EXPECT_EQ(std::count_if(fs::directory_iterator("."), fs::directory_iterator(), in_temporary), 0) << "nothing is left";
  ::setenv("TMPDIR", "/nowhere", 1);
  const outcome lost = hcasim("sweep s.yaml --dry-run");
  ::unsetenv("TMPDIR");
  EXPECT_EQ(lost.status, 2);
  EXPECT_NE(lost.text.find("cannot make a temporary folder: "), std::string::npos) << lost.text;
  EXPECT_NE(lost.text.find("name another place in TMPDIR"), std::string::npos) << lost.text;
  const auto for_slurm = nlohmann::json::parse(hcasim("sweep s.yaml --dry-run --json --executor slurm").text);
  EXPECT_EQ(for_slurm["estimate"]["at_once"], 1) << "Slurm decides how many run at once";
  EXPECT_EQ(hcasim("sweep s.yaml -o out --dry-run --resume").status, 2);
  file("s.yaml", study("  wrong: {knob: parameters.check_fails, values: ['true', 'false']}\n"));
  const outcome failing = hcasim("sweep s.yaml --dry-run");
  EXPECT_EQ(failing.status, 1);
  EXPECT_NE(failing.text.find("point 1 failed: it would not pass\n  the check failed\n"), std::string::npos) << failing.text;
}

TEST_F(sweep, bad_folders_and_result_files) {
  file("s.yaml", study(two_axes));
  refused("s.yaml -o out --resume", "there is nothing to resume in 'out'; leave --resume out to begin");
  fs::create_directories("mine");
  file("mine/thesis.txt", "years of work");
  refused("s.yaml -o mine", "'mine' exists and is not the result of a study; choose another folder with -o");
  EXPECT_EQ(hcasim("sweep s.yaml -o /proc/out").status, 2);

  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  const std::string good = file_content("out/results.sqlite");
  const auto damage = [&](const std::string& content) { std::ofstream("out/results.sqlite", std::ios::binary) << content; };
  damage("this is no database, whatever its name says");
  refused("s.yaml -o out --resume",
          "cannot read 'out/results.sqlite': file is not a database; the file is damaged or no result file; "
          "'sqlite3 FILE .recover' saves what can be read");
  std::string broken = good;
  for (std::size_t i = 4096; i < broken.size(); ++i) broken[i] = static_cast<char>(broken[i] ^ 0x5a);
  damage(broken);
  const outcome o = hcasim("sweep s.yaml -o out --resume");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.text.find("damaged"), std::string::npos) << o.text;
  EXPECT_EQ(file_content("out/results.sqlite"), broken) << "left as it was";
  const outcome shown = hcasim("report out --svg pictures");
  EXPECT_EQ(shown.status, 2);
  EXPECT_NE(shown.text.find("damaged"), std::string::npos) << shown.text;
  EXPECT_FALSE(fs::exists("pictures"));

  // Changes the texts of pages that SQLite can read: no page of the file is checked by a sum.
  broken = good;
  std::size_t of_points = 0;
  for (std::size_t at = broken.find("{\"", 4096); at != std::string::npos; at = broken.find("{\"", at + 1), ++of_points) {
    broken[at + 1] = '#';
  }
  EXPECT_GT(of_points, 3U);
  damage(broken);
  for (const auto* command : {"sweep s.yaml -o out --resume", "report out --svg pictures"}) {
    const outcome text = hcasim(command);
    EXPECT_EQ(text.status, 2) << command;
    EXPECT_NE(text.text.find("damaged"), std::string::npos) << text.text;
    EXPECT_NE(text.text.find("'out/results.sqlite'"), std::string::npos) << text.text;
  }

  damage(good);
  {
    result_file f = result_file::open("out/results.sqlite", true);
    f.query("UPDATE study SET value = '0.0.7' WHERE key = 'version'", [](const auto&) {});
  }
  const outcome version = hcasim("sweep s.yaml -o out --resume");
  EXPECT_NE(version.text.find("was begun by hcasim 0.0.7, this is "), std::string::npos) << version.text;
  {
    result_file f = result_file::open("out/results.sqlite", true);
    f.query("PRAGMA user_version = 99", [](const auto&) {});
  }
  EXPECT_EQ(
      hcasim("report out --svg pictures").text,
      "hcasim: 'out/results.sqlite' has result format 99, but this program writes format 2; use the program that wrote it "
      "(0.0.7)\n");
  refused("s.yaml -o out --resume",
          "'out/results.sqlite' has result format 99, but this program writes format 2; use the program that wrote it (0.0.7)");
}

TEST_F(sweep, a_full_disk_loses_nothing) {
  file("s.yaml", study("  seed: {knob: seed, range: {from: 1, to: 200, step: 1}}\n"));
  // A limit on the size of files is met like a full disk.
  const outcome o = run_program("bash", fmt::format("-c 'ulimit -f 200; exec {} sweep s.yaml -o out -j 2'", places::selftest));
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_NE(o.text.find("cannot write 'out/results.sqlite': "), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("nothing that was finished is lost"), std::string::npos) << o.text;
  const std::size_t kept = points("out").size();
  EXPECT_GT(kept, 5U);
  EXPECT_LT(kept, 200U);
  const outcome resumed = hcasim("sweep s.yaml -o out --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_EQ(points("out").size(), 200U);
}

TEST_F(sweep, only_one_sweep_at_a_time) {
  file("s.yaml", study(slow_axes(), "  latency: {figure: latency}\n", "{ticks: 150000}"));
  const pid_t child = begin_sweep("out", 1);
  refused("s.yaml -o out --resume", "another sweep is running in 'out'; wait for it or choose another folder with -o");
  signal_process(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 143);
}

TEST_F(sweep, formulas) {
  const std::map<std::string, std::optional<double>> names{{"a", 6}, {"b", 4}, {"none", std::nullopt}};
  EXPECT_EQ(evaluate("a - b - 1", names), 1);
  EXPECT_EQ(evaluate("a / b / 2", names), 0.75);
  EXPECT_EQ(evaluate("-a * -(b + 1.5e1)", names), 114);
  EXPECT_EQ(evaluate("min(a, b) + max(a,b)", names), 10);
  EXPECT_EQ(evaluate("a / (b - 4)", names), std::nullopt);
  EXPECT_EQ(evaluate("a + none", names), std::nullopt);
  for (const char* wrong : {"", "a b", "(a", "a +", "min(a)", "c", "a ** b", "1.2.3 a"}) {
    EXPECT_THROW(evaluate(wrong, names), std::runtime_error) << wrong;
  }
  EXPECT_THROW(evaluate(std::string(1000, '('), names), std::runtime_error);
}

}  // namespace
}  // namespace hcasim
