#include "testbenches/program/explanation/what_if_gain.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

std::vector<headline> judged(double rate, double latency) {
  return {{"rate", rate, "M/s", aim::high}, {"latency", latency, "ns", aim::low}};
}

trial tried(const char* name, double rate, double latency, double busy) {
  trial t;
  t.what = {name, "unit", relief_kind::resource, false, true, "2 ns", "1 ns", {}};
  t.values = judged(rate, latency);
  t.gain = gain_of(judged(10, 100), t.values);
  t.busiest = {"node0.unit", "port_busy", busy, ""};
  return t;
}

TEST(what_if_gain, a_rate_is_to_rise_and_a_time_to_fall) {
  EXPECT_DOUBLE_EQ(gain_of(judged(10, 100), judged(20, 100)), 1);
  EXPECT_DOUBLE_EQ(gain_of(judged(10, 100), judged(10, 50)), 1);
  EXPECT_DOUBLE_EQ(gain_of(judged(10, 100), judged(11, 25)), 3) << "of the one that gained most";
  EXPECT_DOUBLE_EQ(gain_of(judged(10, 100), judged(5, 100)), -0.5);
  EXPECT_DOUBLE_EQ(gain_of(judged(0, 0), judged(5, 100)), 0) << "of nothing there is no multiple";
}

TEST(what_if_gain, the_largest_stands_first_and_of_equal_ones_the_busier) {
  what_if_gain g{judged(10, 100), {tried("a", 10, 100, 0.9), tried("b", 15, 100, 0.1), tried("c", 15.001, 100, 0.2)}, {}, ""};
  g.knobs.push_back(tried("d", 0, 0, 1));
  g.knobs.back().values.clear();
  sort_by_gain(g.knobs);
  EXPECT_EQ(g.knobs[0].what.name, "c");
  EXPECT_EQ(g.knobs[1].what.name, "b");
  EXPECT_EQ(g.knobs[2].what.name, "a");
  EXPECT_EQ(binding_text(g, relief_kind::resource), "c, 2 ns -> 1 ns: rate 10 -> 15.001 M/s, +50.0 %");
}

TEST(what_if_gain, less_than_two_intervals_is_chance) {
  std::vector<headline> base = judged(10, 100);
  EXPECT_EQ(least_gain(base), helps);
  base[1].known_to = 0.02;
  EXPECT_EQ(least_gain(base), 0.04);
}

TEST(what_if_gain, a_change_without_gain_is_no_bottleneck) {
  what_if_gain g{judged(10, 100), {tried("a", 10.05, 100, 1)}, {tried("whole", 12, 100, 1)}, ""};
  g.units[0].what.whole = true;
  EXPECT_EQ(binding(g, relief_kind::resource)->what.name, "whole") << "only together do its knobs help";
  g.units.clear();
  EXPECT_EQ(binding(g, relief_kind::resource), nullptr);
  EXPECT_TRUE(what_if_gain_json(g)["binding"].is_null());
  EXPECT_NE(what_if_gain_text(g).find("without effect, or less than 1 %: 1\n"), std::string::npos);
  EXPECT_EQ(binding_text(g, relief_kind::resource), "none of the tried changes: no gain reaches 1 %");
  g.least = 0.025;
  EXPECT_EQ(binding_text(g, relief_kind::resource), "none of the tried changes: no gain reaches 2.5 %");
  EXPECT_EQ(what_if_gain_json(g)["least"], 0.025);
  g.least = helps;
  EXPECT_FALSE(what_if_gain_json(g).contains("least"));
  g.units.push_back(tried("whole", 10, 100, 1));
  EXPECT_EQ(binding_text(g, relief_kind::resource),
            "none of the tried changes: no gain reaches 1 %; more requests at once may help: --what-if 'parameters.*'");
  g.why_not = "it was stopped";
  EXPECT_EQ(binding_text(g, relief_kind::resource), "not known: it was stopped");
}

TEST(what_if_gain, a_shorter_way_does_not_hide_what_can_be_bought) {
  what_if_gain g{judged(10, 100), {tried("link_latency", 20, 100, 0), tried("walkers", 15, 100, 0.9)}, {}, ""};
  g.knobs[0].what.kind = relief_kind::latency;
  EXPECT_EQ(binding(g, relief_kind::resource)->what.name, "walkers");
  EXPECT_EQ(binding(g, relief_kind::latency)->what.name, "link_latency");
  EXPECT_EQ(what_if_verdicts(g),
            "binding     walkers, 2 ns -> 1 ns: rate 10 -> 15 M/s, +50.0 %\n"
            "latency     link_latency, 2 ns -> 1 ns: rate 10 -> 20 M/s, +100.0 %\n");
  const std::string text = what_if_gain_text(g);
  EXPECT_LT(text.find("walkers"), text.find("what half of each latency"));
  EXPECT_GT(text.find("link_latency"), text.find("what half of each latency"));
  const auto json = what_if_gain_json(g);
  EXPECT_EQ(json["binding"], "walkers");
  EXPECT_EQ(json["gains"].size(), 1U);
  EXPECT_EQ(json["latencies"]["binding"], "link_latency");
  EXPECT_EQ(json["latencies"]["gains"].size(), 1U);
  g.knobs.pop_back();
  EXPECT_EQ(what_if_verdicts(g), "latency     link_latency, 2 ns -> 1 ns: rate 10 -> 20 M/s, +100.0 %\n")
      << "no resource was tried";
}

}  // namespace
}  // namespace hcasim
