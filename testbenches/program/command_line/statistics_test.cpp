// Which part of a run its statistics are of, and statistics over time, through a built program.
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/selftest/selftest_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

class statistics_of_a_run : public selftest_program {};

// 100 ticks of 10 ns and more: 20 before, then 40 and 40. Every tick adds a sample and moves the level.
TEST_F(statistics_of_a_run, are_of_the_measured_part) {
  ASSERT_EQ(hcasim("run count_ticks -o whole --ticks 100 --tick_period 10ns").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o part --ticks 100 --tick_period 10ns --warm_up 20 --parts 1").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o parts --ticks 100 --tick_period 10ns --warm_up 20 --parts 2").status, 0);
  const auto result = [](const char* folder) { return ordered_json::parse(content(fs::path(folder) / "result.json")); };
  const ordered_json whole = result("whole");
  EXPECT_EQ(whole["statistics"]["node0.key_check"]["operations"]["value"], 100);
  EXPECT_EQ(whole["measured"]["begin_ns"], 0);
  EXPECT_EQ(whole["measured"]["end_ns"], whole["simulated_ns"]);
  EXPECT_EQ(whole["set_up"], ordered_json::parse(R"({"ns": 0.0})"));

  const ordered_json part = result("part");
  const ordered_json& s = part["statistics"]["node0.key_check"];
  const ordered_json& before = part["set_up"]["statistics"]["node0.key_check"];
  EXPECT_EQ(s["operations"]["value"], 80);
  EXPECT_EQ(before["operations"], 20);
  EXPECT_EQ(s["gap"]["count"], 80);
  EXPECT_EQ(before["gap"]["count"], 20);
  EXPECT_NEAR(s["share"]["value"], 1.0 / 3, 1e-12);
  EXPECT_EQ(s["shown"]["signal"], "state");
  EXPECT_FALSE(s["fill"].contains("signal"));
  const double begin = part["measured"]["begin_ns"];
  EXPECT_GT(begin, 200);
  EXPECT_EQ(part["set_up"]["ns"].get<double>(), begin);
  EXPECT_EQ(part["measured"]["ns"].get<double>() + begin, part["simulated_ns"].get<double>());
  EXPECT_FALSE(part["measured"].contains("parts")) << "one is the measured part";
  // The counts of both add up to those of the whole run.
  const ordered_json& all = whole["statistics"]["node0.key_check"];
  EXPECT_NEAR(s["gap"]["mean"].get<double>() * 80 + before["gap"]["mean"].get<double>() * 20,
              all["gap"]["mean"].get<double>() * 100, 1e-6);
  EXPECT_EQ(std::max(s["gap"]["max"].get<double>(), before["gap"]["max"].get<double>()), all["gap"]["max"]);
  EXPECT_NEAR(
      s["fill"]["mean"].get<double>() * part["measured"]["ns"].get<double>() + before["fill"]["mean"].get<double>() * begin,
      all["fill"]["mean"].get<double>() * whole["simulated_ns"].get<double>(), 1e-6);

  const ordered_json parts = result("parts");
  EXPECT_EQ(parts["statistics"]["node0.key_check"], s) << "two parts behind one another are as one";
  ASSERT_EQ(parts["measured"]["parts"].size(), 2U);
  const ordered_json& late = parts["measured"]["parts"][1];
  EXPECT_EQ(late["name"], "late");
  EXPECT_EQ(late["begin_ns"], parts["measured"]["parts"][0]["end_ns"]);
  EXPECT_EQ(late["statistics"]["node0.key_check"]["operations"], 40);
  EXPECT_EQ(late["statistics"]["node0.key_check"]["gap"]["count"], 40);

  const std::string text = content("parts/statistics.txt");
  const std::size_t at[] = {
      text.find("== the measured part: "), text.find("\n  operations  80 "), text.find("== measured: early: "),
      text.find("\n  operations  40 "),    text.find("== set-up, "),         text.find("\n  operations  20 ")};
  EXPECT_TRUE(std::is_sorted(std::begin(at), std::end(at))) << text;
  EXPECT_NE(at[5], std::string::npos) << text;
}

TEST_F(statistics_of_a_run, over_time) {
  const std::string run = "run count_ticks --ticks 100 --tick_period 10ns --warm_up 20 --parts 1 ";
  ASSERT_EQ(hcasim(run + "-o off").status, 0);
  EXPECT_FALSE(fs::exists("off/statistics.csv"));
  const outcome o =
      hcasim(run + "-o on --set statistics.interval=100ns --set 'statistics.series=*.operations, *.fill, gap.p99'");
  EXPECT_EQ(o.status, 2) << "a pattern is of the whole name";
  ASSERT_EQ(
      hcasim(run + "-o on --set statistics.interval=100ns --set 'statistics.series=*.operations, *.fill, *.gap.p99'").status,
      0);
  const std::string csv = content("on/statistics.csv");
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "begin [us],end [us],node0.key_check.operations [1],node0.key_check.gap.p99 [ns],node0.key_check.fill.mean [1],"
            "node0.key_check.fill.peak [1]");
  double ticks = 0;
  double area = 0;
  double last = 0;
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    double begin = 0, end = 0, operations = 0, p99 = 0, mean = 0, peak = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf", &begin, &end, &operations, &p99, &mean, &peak), 6) << line;
    EXPECT_EQ(begin, last);
    last = end;
    ticks += operations;
    area += mean * (end - begin);
  }
  const auto off = ordered_json::parse(content("off/result.json"));
  const auto on = ordered_json::parse(content("on/result.json"));
  EXPECT_EQ(ticks, 100) << "set-up included";
  EXPECT_EQ(rows, static_cast<int>(std::ceil(off["simulated_ns"].get<double>() / 100)));
  EXPECT_NEAR(last * 1000, off["simulated_ns"], 1e-6) << "the last row ends with the run";
  const auto mean_times_ns = [](const ordered_json& bare, const char* name, double ns) {
    return bare[name]["mean"].get<double>() * ns;
  };
  EXPECT_NEAR(area * 1000,
              mean_times_ns(off["statistics"]["node0.key_check"], "fill", off["measured"]["ns"]) +
                  mean_times_ns(off["set_up"]["statistics"]["node0.key_check"], "fill", off["set_up"]["ns"]),
              1e-6);
  for (const char* same : {"figures", "statistics", "set_up", "measured", "simulated_ns"})
    EXPECT_EQ(on[same], off[same]) << same;
  EXPECT_EQ(content("on/waves.vcd"), content("off/waves.vcd")) << "to look at it changes nothing";

  ASSERT_EQ(
      hcasim(run + "-o again --set statistics.interval=100ns --set 'statistics.series=*.operations, *.fill, *.gap.p99'").status,
      0);
  EXPECT_EQ(content("again/statistics.csv"), csv);
  ASSERT_EQ(hcasim("run on/resolved.yaml -o resolved").status, 0);
  EXPECT_EQ(content("resolved/statistics.csv"), csv);
  file("list.yaml",
       "testbench: count_ticks\nparameters: {ticks: 100, tick_period: 10 ns, warm_up: 20, parts: 1}\n"
       "statistics:\n  interval: 100 ns\n  series: ['*.operations', '*.fill', '*.gap.p99']\n");
  ASSERT_EQ(hcasim("run list.yaml -o list").status, 0);
  EXPECT_EQ(content("list/statistics.csv"), csv);

  const outcome page = hcasim("report on --svg pictures --html on.html");
  ASSERT_EQ(page.status, 0) << page.text;
  const std::string html = content("on.html");
  EXPECT_NE(html.find("node0.key_check, time [us] = 0.1: "), std::string::npos) << "values on hover";
  EXPECT_NE(html.find("fill.mean"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos) << "nothing but the page itself";
  EXPECT_TRUE(fs::exists("pictures/count_ticks_4.svg"));
  EXPECT_FALSE(fs::exists("pictures/count_ticks_5.svg"));
}

TEST_F(statistics_of_a_run, over_time_that_make_no_sense) {
  const std::string run = "run count_ticks -o out --ticks 100 --tick_period 10ns --no-trace ";
  refused(run + "--set statistics.interval=0ns",
          "--set statistics.interval=0ns: statistics.interval: 0ns is out of range; allowed is 1 ns to never");
  refused(run + "--set statistics.interval=10",
          "--set statistics.interval=10: statistics.interval: '10' has no unit; a time is in ps, "
          "ns, us, ms or s: write for example '10 ns'");
  const std::string longer = hcasim(run + "--set statistics.interval=1ms").text;
  EXPECT_EQ(longer.substr(0, 75),
            "hcasim: statistics.interval: 1 ms is longer than the run, which took 1.0" + longer.substr(72, 3));
  EXPECT_NE(longer.find(" us; choose a shorter one\n"), std::string::npos) << longer;
  EXPECT_TRUE(files().empty());
  refused(
      run + "--set statistics.interval=100ns --set 'statistics.series=*.fill, *.fil'",
      "statistics.series: no statistic has the name '*.fil'; statistics are: node0.key_check.operations, node0.key_check.gap, "
      "node0.key_check.fill, node0.key_check.shown, node0.key_check.share");
  refused(run + "--set statistics.interval=100ns --set 'statistics.series=*.fill,,'",
          "statistics.series: '*.fill,,' has an empty pattern; write for example '*.hit_ratio'");
  refused(run + "--set 'statistics.series=*.fill'",
          "statistics.series: has no effect without statistics.interval; write for example statistics.interval: 10 us");
  refused(run + "--set statistics.intervall=100ns",
          "--set statistics.intervall=100ns: statistics.intervall: unknown key 'intervall'; did you mean 'interval'?");
  file("map.yaml", "testbench: count_ticks\nstatistics: {interval: 1 us, series: [{a: b}]}\n");
  EXPECT_EQ(hcasim("run map.yaml -o out").text, "hcasim: map.yaml:2:39: statistics.series: a list of names is expected here\n");
  ASSERT_EQ(hcasim(run).status, 0);
  EXPECT_EQ(hcasim("report out").text,
            "hcasim: 'out' holds a run without statistics over time; run it again with --set "
            "statistics.interval='10 us'\n");
  EXPECT_EQ(hcasim("report out --compare out").status, 2);
}

}  // namespace
}  // namespace hcasim
