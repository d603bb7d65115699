// Measures of model beside measurement, the descriptions' shapes, and the search of `hcasim fit`.
#include <unistd.h>

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/validation/fit.h"
#include "testbenches/program/validation/fit_plan.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class comparison : public ::testing::Test {
 protected:
  comparison() { fs::create_directories(folder_); }
  ~comparison() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // Judges one series 'a' with x = 1, 2, 4, ...
  const compared_experiment& judged(const std::vector<double>& published, const std::vector<double>& model,
                                    const std::string& more) {
    of_ = std::make_unique<experiment>(file("E1.yaml", fmt::format("experiment: E1\nunit: us\n{}\n"
                                                                   "series: [{{match: a, set: {{x: '{{x}}'}}, value: v}}]\n",
                                                                   more)));
    points_.clear();
    for (std::size_t i = 0; i < published.size(); ++i)
      points_.push_back({"E1", "a", "", "x", std::exp2(static_cast<double>(i)), published[i], "us", {}});
    e_ = {.of = of_.get(), .preset = ""};
    e_.series.push_back({"a", &of_->series().front()});
    for (std::size_t i = 0; i < published.size(); ++i) e_.series[0].points.push_back({&points_[i], model[i]});
    judge(e_);
    return e_;
  }
  void refused(const std::string& plan, const std::string& text) {
    try {
      const fit_plan p(file("plan.yaml", plan));
      FAIL() << plan;
    } catch (const input_error& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_comparison_{}", ::getpid());
  std::unique_ptr<experiment> of_;
  std::vector<published_point> points_;
  compared_experiment e_;
};

TEST_F(comparison, mean_worst_and_last_error_are_shares_of_the_measurement) {
  const auto& e = judged({10, 20, 40}, {11, 18, 42}, "tolerance: {mape: 8.4, worst: 10.1, asymptote: 5.1}");
  ASSERT_EQ(e.judgements.size(), 1U);
  EXPECT_NEAR(e.judgements[0].mape, (10 + 10 + 5) / 3.0, 1e-9);
  EXPECT_NEAR(e.judgements[0].worst, 10, 1e-9);
  EXPECT_NEAR(e.judgements[0].asymptote, 5, 1e-9);
  EXPECT_EQ(e.result, fidelity_verdict::within);
  EXPECT_EQ(judged({10, 20, 40}, {11, 18, 42}, "tolerance: {mape: 8.3}").result, fidelity_verdict::outside);
  EXPECT_EQ(judged({10, 20, 40}, {11, 18, 42}, "tolerance: {worst: 9.9}").result, fidelity_verdict::outside);
  EXPECT_EQ(judged({10, 20, 40}, {11, 18, 42}, "tolerance: {asymptote: 4.9}").result, fidelity_verdict::outside);
}

TEST_F(comparison, knee_is_where_a_curve_leaves_a_tenth_of_its_first_value) {
  const auto& e = judged({10, 10, 8}, {10, 8, 8}, "tolerance: {knee: 0.9}");
  ASSERT_TRUE(e.judgements[0].knee);
  EXPECT_NEAR(*e.judgements[0].knee, 1, 1e-9);
  EXPECT_EQ(e.result, fidelity_verdict::outside);
  EXPECT_NEAR(*judged({10, 10, 8}, {10, 10, 10}, "").judgements[0].knee, 0.5, 1e-9) << "no knee counts as the last point's";
  EXPECT_FALSE(judged({10, 10, 9.5}, {10, 5, 5}, "").judgements[0].knee) << "no knee was measured";
}

TEST_F(comparison, shapes_hold_or_fail_by_the_model) {
  const auto holds = [&](const std::vector<double>& model, const std::string& check) {
    const auto& e = judged({10, 10, 20}, model, fmt::format("checks: [{{{}}}]", check));
    EXPECT_EQ(e.shapes.size(), 1U);
    return e.shapes.at(0).ok;
  };
  EXPECT_TRUE(holds({10, 10, 21}, "ratio: a, from: 1, to: 4, near: 2, within: 0.11"));
  EXPECT_FALSE(holds({10, 10, 22}, "ratio: a, from: 1, to: 4, near: 2, within: 0.11"));
  EXPECT_TRUE(holds({10, 10, 21}, "step: a, from: 1, to: 4, near: 10, within: 1"));
  EXPECT_FALSE(holds({10, 10, 22}, "step: a, from: 1, to: 4, near: 10, within: 1"));
  EXPECT_FALSE(holds({10, 10, 19}, "ratio: a, from: 1, to: 4, least: 2"));
  EXPECT_TRUE(holds({10, 10.1, 20}, "turns: a, at: [[1, 2], [2, 4]]"));
  EXPECT_FALSE(holds({10, 10.3, 20}, "turns: a, at: [[1, 2]]"));
  EXPECT_FALSE(holds({10, 10, 9}, "turns: a, at: [[2, 4]]"));
  EXPECT_TRUE(holds({10, 10.4, 9.6}, "flat: a, within: 5"));
  EXPECT_FALSE(holds({10, 10.6, 10}, "flat: a, within: 5"));
}

TEST_F(comparison, cost_grows_with_error_broken_limits_and_failed_shapes) {
  const double small = cost_of(judged({10, 10}, {10.1, 10.1}, "tolerance: {mape: 5}"));
  EXPECT_NEAR(small, 0.2, 1e-9);
  EXPECT_NEAR(cost_of(judged({10, 10}, {11, 11}, "tolerance: {mape: 5}")), 2 + 1, 1e-9);
  EXPECT_NEAR(cost_of(judged({10, 10}, {10.1, 10.1}, "tolerance: {mape: 5}\nchecks: [{ratio: a, from: 1, to: 2, least: 2}]")),
              1.2, 1e-9);
  const auto step = [&](double model, const char* tolerance) {
    return cost_of(
        judged({10, 12}, {10, model}, std::string(tolerance) + "\nchecks: [{step: a, from: 1, to: 2, near: 2, within: 0.5}]"));
  };
  EXPECT_NEAR(step(12.25, "tolerance: {asymptote: 5}"), 0.5, 1e-9) << "the points do not count";
  EXPECT_NEAR(step(12.5, "tolerance: {asymptote: 5}"), 1, 1e-9);
  EXPECT_GT(step(14, "tolerance: {asymptote: 5}"), 4) << "a broken limit counts beside it";
}

TEST(pattern_search, finds_a_corner_of_absolute_errors_and_is_deterministic) {
  const std::vector<search_range> ranges{{0, 100, 1, false}, {1, 1000, 0, true}};
  std::uint64_t asked = 0;
  const auto cost = [&](const std::vector<search_point>& points) {
    std::vector<double> out;
    for (const auto& p : points) out.push_back(std::fabs(p[0] - 37) / 37 + std::fabs(std::log(p[1] / 20)));
    asked += points.size();
    return out;
  };
  const search_result r = search_pattern(ranges, {90, 500}, 120, 7, cost);
  EXPECT_EQ(r.evaluations, asked);
  EXPECT_LE(asked, 120U);
  EXPECT_EQ(r.best[0], 37);
  EXPECT_NEAR(r.best[1], 20, 1);
  EXPECT_EQ(search_pattern(ranges, {90, 500}, 120, 7, cost).best, r.best);
  asked = 0;
  EXPECT_EQ(search_pattern(ranges, {90, 500}, 1, 7, cost).best, (search_point{90, 500}));
  EXPECT_EQ(asked, 1U);
}

TEST(pattern_search, values_are_steps_within_the_range) {
  const search_range r{10, 25, 4, false};
  EXPECT_EQ(r.value_at(0), 10);
  EXPECT_EQ(r.value_at(1), 22);
  EXPECT_EQ(r.value_at(0.5), 18);
  EXPECT_NEAR((search_range{1, 100, 0, true}.value_at(0.5)), 10, 1e-9);
}

TEST_F(comparison, bad_plans_are_told_with_file_line_and_mend) {
  const std::string head = "preset: p\nblocks:\n  - block: b\n    to: [V01]\n    knobs:\n";
  refused("blocks: []\n", "plan.yaml:1:1: preset: whose constants?");
  refused("preset: p\n", "nothing is fitted");
  refused(head + "      k: {from: 5, to: 2}\n", "plan.yaml:6:10: blocks.knobs.k: 'from' is not below 'to'");
  refused(head + "      k: {from: 0, to: 2, scale: log}\n", "begins above 0");
  refused(head + "      k: {from: 1 ns, to: 2}\n", "the unit stands in 'unit'");
  refused(head + "      k: {from: 1, to: 2, begin: 3}\n", "'begin' is outside");
  refused(head + "      k: {from: 1, to: 2}\n  - {block: c, to: [V02], knobs: {k: {from: 1, to: 2}}}\n",
          "already fitted in the block 'b'");
  refused("preset: p\nblocks: [{block: b, to: ['V01: ('], knobs: {k: {from: 1, to: 2}}}]\n", "no regular expression");
}

}  // namespace
}  // namespace hcasim
