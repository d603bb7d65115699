// Derived, sampled and repeated axes, goals and tornadoes of studies.
#include <cmath>
#include <set>

#include "testbenches/program/report/chart_data.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/study/repetition.h"
#include "testbenches/program/testing/sweep_study.h"

namespace hcasim {
namespace {

class asking : public sweep_study {
 protected:
  static std::vector<chart_data> charts(const std::string& folder) {
    result_file f = result_file::open(std::filesystem::path(folder) / result_file::file_name, false);
    return charts_of(f);
  }
  void bad(const std::string& text, const std::string& message) {
    file("s.yaml", text);
    refused("s.yaml -o bad", message);
    EXPECT_FALSE(std::filesystem::exists("bad"));
  }
};

TEST(repetition, agrees_with_the_tables_of_student) {
  for (const auto& [freedom, t] : {std::pair{1, 12.7062047},
                                   {2, 4.3026527},
                                   {3, 3.1824463},
                                   {4, 2.7764451},
                                   {9, 2.2621572},
                                   {30, 2.0422725},
                                   {100, 1.9839715},
                                   {1000, 1.9623391}}) {
    EXPECT_NEAR(student_t95(static_cast<std::size_t>(freedom)), t, 1e-6) << freedom;
  }
  const spread s = spread_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_NEAR(s.deviation, std::sqrt(32.0 / 7), 1e-12);
  EXPECT_NEAR(s.confidence, 2.3646243 * std::sqrt(32.0 / 7 / 8), 1e-6);
  EXPECT_EQ(spread_of({3}).confidence, 0);
}

TEST_F(asking, a_derived_axis_is_a_column_and_may_stand_along_a_chart) {
  file("s.yaml", study("  ways: {knob: node0.hca.mrc_cache.ways, values: [4, 2, 8]}\n"
                       "  ticks: {knob: parameters.ticks, values: [10, 20]}\n"
                       "  bytes: {formula: ways * node0.hca.mrc_cache.size / 2, unit: B, title: cache}\n",
                       "  latency: {figure: latency}\n  each: {formula: latency / bytes * ticks}\n"
                       "charts:\n  - {line: each, x: bytes, series: ticks}\n"));
  const outcome o = hcasim("sweep s.yaml -o out");
  ASSERT_EQ(o.status, 0) << o.text;
  const double size = std::stod(query("out", "SELECT bytes FROM results WHERE ways = 2 AND ticks = 10")[0][0]);
  EXPECT_EQ(query("out", "SELECT count(*) FROM results")[0][0], "6") << "it is no axis that makes points";
  EXPECT_EQ(std::stod(query("out", "SELECT bytes FROM results WHERE ways = 8 AND ticks = 20")[0][0]), 4 * size);
  const chart_data c = charts("out").at(0);
  EXPECT_EQ(c.x_title, "cache [B]");
  ASSERT_EQ(c.x.size(), 3U);
  EXPECT_LT(std::stod(c.x[0]), std::stod(c.x[2])) << "in rising order";
  ASSERT_EQ(c.series.size(), 2U);
  EXPECT_NEAR(*c.series[1].values[0], 2 * *c.series[0].values[0], 1e-12);
  EXPECT_TRUE(c.series[0].errors.empty());
  ASSERT_EQ(hcasim("report out --html page.html").status, 0);
  EXPECT_NE(file_content("page.html").find("<div class=\"picture\"><svg"), std::string::npos);
  bad(study("  a: {presets: [pair, star]}\n  b: {formula: a * 2}\n"),
      "s.yaml:8:6: axes.b: 'a * 2': the values of the axis a are names, not numbers; name its knobs instead");
  bad(study("  a: {knob: nodes, values: [2]}\n  b: {formula: node0.hca.mrc_cache.wyas}\n"),
      "s.yaml:8:6: node0.hca.mrc_cache.wyas: unknown key 'wyas'; did you mean 'ways'?");
  bad(study("  b: {formula: 1}\n"),
      "s.yaml:7:3: axes: every axis is derived, so there is nothing to vary; add 'name: {knob: PATH, ...}'");
}

TEST_F(asking, a_latin_sample_has_each_part_of_a_range_once) {
  const auto ways = [&](const std::string& sample, const std::string& folder) {
    file("s.yaml", study("  cache: {sample: " + sample +
                         ", over: {node0.hca.mrc_cache.ways: {from: 1, to: 8}, "
                         "node*.hca.mrc_cache.size: {from: 1 KiB, to: 1 MiB, log: true}}}\n"
                         "  ways: {formula: node0.hca.mrc_cache.ways}\n  size: {formula: node1.hca.mrc_cache.size}\n"));
    const outcome o = hcasim("sweep s.yaml -o " + folder);
    EXPECT_EQ(o.status, 0) << o.text;
    return query(folder, "SELECT ways, size FROM results ORDER BY id");
  };
  const rows first = ways("{latin: 8}", "first");
  std::set<std::string> seen;
  std::set<int> octaves;
  for (const auto& row : first) {
    seen.insert(row[0]);
    octaves.insert(static_cast<int>(std::log2(std::stod(row[1]) / 1024) / 10 * 8 + 1e-9));
  }
  EXPECT_EQ(seen.size(), 8U) << "1 to 8, each once";
  EXPECT_EQ(octaves.size(), 8U) << "each eighth of the logarithm once";
  EXPECT_EQ(ways("{latin: 8}", "second"), first);
  EXPECT_NE(ways("{latin: 8, seed: 2}", "third"), first);
  for (const auto& row : ways("{random: 20}", "fourth")) {
    EXPECT_GE(std::stod(row[0]), 1);
    EXPECT_LE(std::stod(row[0]), 8);
  }
  bad(study("  a: {sample: {latin: 8}}\n"),
      "s.yaml:7:6: axes.a.over: a sample is taken over ranges of knobs; add 'over: {PATH: {from: A, to: B}}'");
  bad(study("  a: {sample: {lation: 8}, over: {nodes: {from: 1, to: 2}}}\n"),
      "s.yaml:7:16: axes.a.sample.lation: unknown key 'lation'; did you mean 'latin'?");
  bad(study("  a: {sample: {latin: 8}, over: {node0.hca.mrc_cache.ways: {from: 1, to: 100}}}\n").substr(0),
      "s.yaml:7:60: node0.hca.mrc_cache.ways: 84 is out of range; allowed is 1 to 64");
}

TEST_F(asking, seeds_give_mean_deviation_and_confidence) {
  file("s.yaml",
       study("  ticks: {knob: parameters.ticks, values: [10, 20]}\n  again: {seeds: 5}\n",
             "  gap: {statistic: node0.key_check.gap, of: mean}\n  ticked: {statistic: node0.key_check.operations}\n"));
  const outcome o = hcasim("sweep s.yaml -o out");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("mean over seeds \u00b1 half the 95 % confidence interval\n  ticks  runs"), std::string::npos)
      << o.text;
  std::vector<double> gaps;
  for (const auto& row : query("out", "SELECT gap FROM results WHERE ticks = 20 ORDER BY again"))
    gaps.push_back(std::stod(row[0]));
  ASSERT_EQ(gaps.size(), 5U);
  EXPECT_NE(gaps[0], gaps[1]);
  const spread want = spread_of(gaps);
  const rows r = query(
      "out", "SELECT count, mean, deviation, confidence FROM repetitions WHERE metric = 'gap' AND axes = '{\"ticks\":\"20\"}'");
  ASSERT_EQ(r.size(), 1U);
  EXPECT_EQ(r[0][0], "5");
  EXPECT_NEAR(std::stod(r[0][1]), want.mean, 1e-9);
  EXPECT_NEAR(std::stod(r[0][2]), want.deviation, 1e-9);
  EXPECT_NEAR(std::stod(r[0][3]), want.confidence, 1e-9);
  EXPECT_EQ(query("out", "SELECT mean, confidence FROM repetitions WHERE metric = 'ticked'")[0],
            (std::vector<std::string>{"10.0", "0.0"}));
  const chart_data c = charts("out").at(0);
  ASSERT_EQ(c.series.size(), 1U) << "the seeds are no lines";
  EXPECT_NEAR(*c.series[0].values[1], want.mean, 1e-9);
  EXPECT_NEAR(*c.series[0].errors[1], want.confidence, 1e-9);
  EXPECT_NE(svg_chart(c).find("class=\"error\""), std::string::npos);
  bad(study("  a: {seeds: 1}\n"), "s.yaml:7:14: axes.a.seeds: 1 seeds show no spread; write 2 to 100000");
  bad(study("  a: {seeds: 2}\n  b: {knob: seed, values: [1]}\n"),
      "s.yaml:8:13: axes.b: seed is varied by two axes; remove one");
}

const std::string goal_axes =
    "  latency_set: {knob: node0.pcie.latency, values: [100 ns, 200 ns]}\n"
    "  ticks: {knob: parameters.ticks, range: {from: 1, to: 64, step: 1}}\n";

TEST_F(asking, a_goal_is_found_by_bisection) {
  const std::string metrics = "  n: {figure: ticks}\n  bump: {formula: (n - 20) * (n - 20)}\n";
  file("s.yaml", study(goal_axes, metrics + "goal: {largest: ticks, metric: n, below: 24.5}\n"));
  const outcome o = hcasim("sweep s.yaml -o out");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("largest ticks with n below 24.5\n"), std::string::npos) << o.text;
  EXPECT_EQ(query("out", "SELECT count(*) FROM results")[0][0], "16") << "two ends and six halves, twice";
  for (const auto& row : query("out",
                               "SELECT json_extract(goal, '$.value'), json_extract(goal, '$.beyond'), json_extract(goal, "
                               "'$.monotonic') FROM goals"))
    EXPECT_EQ(row, (std::vector<std::string>{"24", "25", "1"}));
  // Finished points do not run again.
  EXPECT_NE(hcasim("sweep s.yaml -o out --resume").text.find("; now 0 in"), std::string::npos);
  file("s.yaml", study(goal_axes, metrics + "goal: {smallest: ticks, metric: n, above: 24.5}\n"));
  const auto sought =
      nlohmann::ordered_json::parse(hcasim("sweep s.yaml -o out2 --json --at 'latency_set=200 ns'").text)["goal"];
  ASSERT_EQ(sought.size(), 1U);
  EXPECT_EQ(sought[0]["axes"]["latency_set"], "200 ns");
  EXPECT_EQ(sought[0]["value"], "25");
  EXPECT_EQ(sought[0]["beyond"], "24");
  file("s.yaml", study(goal_axes, metrics + "goal: {largest: ticks, metric: n, below: 1}\n"));
  EXPECT_NE(hcasim("sweep s.yaml -o out3").text.find("none"), std::string::npos);
  file("s.yaml", study(goal_axes, metrics + "goal: {largest: ticks, metric: n, below: 100}\n"));
  EXPECT_EQ(nlohmann::ordered_json::parse(hcasim("sweep s.yaml -o out4 --json").text)["goal"][0]["value"], "64");
  EXPECT_EQ(query("out4", "SELECT count(*) FROM results")[0][0], "4") << "the ends alone";
  file("s.yaml", study(goal_axes, metrics + "goal: {largest: ticks, metric: bump, below: 500}\n"));
  const outcome doubtful = hcasim("sweep s.yaml -o out5");
  EXPECT_NE(doubtful.text.find("bump does not change in one direction"), std::string::npos) << doubtful.text;
}

TEST_F(asking, goals_that_make_no_sense) {
  const auto goal = [&](const std::string& text) { return study(goal_axes, "  n: {figure: ticks}\ngoal: " + text + "\n"); };
  bad(goal("{largest: tikcs, metric: n, below: 3}"),
      "s.yaml:11:17: goal.largest: there is no axis 'tikcs'; did you mean 'ticks'?");
  bad(goal("{largest: ticks, metric: m, below: 3}"), "s.yaml:11:32: goal.metric: there is no metric 'm'; metrics are: n");
  bad(goal("{largest: ticks, metric: n}"),
      "s.yaml:11:7: goal: exactly one of below and above is needed; write for example goal: {largest: AXIS, metric: METRIC, "
      "below: 5000}");
  bad(goal("{largest: ticks, smallest: ticks, metric: n, below: 3}"),
      "s.yaml:11:7: goal: exactly one of largest and smallest is needed; write for example goal: {largest: AXIS, metric: "
      "METRIC, below: 5000}");
  bad(goal("{largest: ticks, metric: n, below: 3 us}"),
      "s.yaml:11:42: goal: '3 us' is not a number; write the limit in the metric's unit, without it");
  bad(study("  a: {knob: parameters.ticks, values: [3, 2]}\n",
            "  n: {figure: ticks}\ngoal: {largest: a, metric: n, below: 3}\n"),
      "s.yaml:10:17: goal.largest: the values of a do not rise, so there is no largest one; sort them");
  file("s.yaml", goal("{largest: ticks, metric: n, below: 3}"));
  refused("s.yaml -o bad --at ticks=3", "--at ticks=3: the goal is sought along ticks; leave it out");
  refused("s.yaml -o bad --executor slurm",
          "goal: the next point follows from the last, which an array job cannot do; leave --executor slurm out");
}

TEST_F(asking, a_tornado_changes_one_knob_at_a_time) {
  const auto text = [](const std::string& tornado, const std::string& more = "") {
    return "question: What matters?\nbase: {testbench: count_ticks, parameters: {ticks: 20}}\ntornado: " + tornado +
           "\nmetrics:\n  latency: {figure: latency}\n  n: {figure: ticks}\n" + more;
  };
  file("s.yaml", text("{knobs: [parameters.ticks, node0.pcie.latency, node*.hca.mrc_cache.ways], by: 0.5..3}"));
  const outcome o = hcasim("sweep s.yaml -o out");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_EQ(query("out", "SELECT count(*) FROM results")[0][0], "7");
  const rows r = query("out", "SELECT knob, low, base, high FROM tornado WHERE metric = 'latency'");
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0][0], "node0.pcie.latency") << "the largest effect first";
  EXPECT_EQ(std::stod(r[0][1]), std::stod(r[0][2]) / 2);
  EXPECT_EQ(std::stod(r[0][3]), std::stod(r[0][2]) * 3);
  EXPECT_EQ(r[1][1], r[1][2]);
  EXPECT_NE(o.text.find("node0.pcie.latency        -50.0 %  +200.0 %\n"), std::string::npos) << o.text;
  const chart_data c = charts("out").at(0);
  EXPECT_EQ(c.kind, "tornado");
  EXPECT_EQ(c.x[0], "node0.pcie.latency");
  EXPECT_NEAR(*c.series[0].values[0], -50, 1e-9);
  EXPECT_NE(svg_chart(c).find("node0.pcie.latency"), std::string::npos);
  ASSERT_EQ(hcasim("report out --html page.html").status, 0);
  EXPECT_NE(file_content("page.html").find("<div class=\"picture\"><svg"), std::string::npos);
  bad(text("{knobs: [parameters.tikcs]}"), "s.yaml:3:19: parameters.tikcs: unknown key 'tikcs'; did you mean 'ticks'?");
  bad(text("{knobs: [parameters.ticks], by: 2..3}"),
      "s.yaml:3:42: tornado.by: '2..3' is no pair of factors around 1; write for example 0.5..2");
  bad(text("{knobs: [parameters.hang]}"), "s.yaml:3:19: tornado.knobs: parameters.hang is a flag and cannot be multiplied");
  bad(text("{knobs: [parameters.warm_up]}"),
      "s.yaml:3:19: tornado.knobs: parameters.warm_up = 0 stays as it is; allowed is 0 to 10000000");
  bad(text("{knobs: [parameters.ticks]}", "axes: {t: {knob: parameters.ticks, values: [1]}}\n"),
      "s.yaml:7:18: axes.t: parameters.ticks is varied by two axes; remove one");
}

}  // namespace
}  // namespace hcasim
