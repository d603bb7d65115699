// The parts in plain C++: distributions, patterns, records.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "testbenches/program/description/quantity.h"
#include "testbenches/traffic/distribution.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/pattern.h"

namespace hcasim::traffic {
namespace {

constexpr int draws = 200'000;

double mean_of(const distribution& d) {
  random_stream r(7, "test");
  double sum = 0;
  for (int i = 0; i < draws; ++i) sum += d.draw(r);
  return sum / draws;
}

TEST(distribution, draws_have_the_mean_of_the_text) {
  const std::map<std::string, double> means{
      {"4 KiB", 4096},
      {"uniform 64 B to 4 KiB", 2080},
      {"exponential 2 KiB", 2048},
      {"lognormal 4 KiB sigma 0.8", 4096},
      {"zipf 1 of 64 B to 256 B", (64 + 128 / 2.0 + 256 / 3.0) / (1 + 1 / 2.0 + 1 / 3.0)}};
  for (const auto& [text, mean] : means) {
    const distribution d = distribution::parse(text, knob_kind::bytes);
    EXPECT_NEAR(d.mean(), mean, 1e-6 * mean) << text;
    EXPECT_NEAR(mean_of(d), mean, 0.01 * mean) << text;
  }
  EXPECT_EQ(distribution::parse("exponential 2 us", knob_kind::time).mean(), 2e6) << "ps";
}

TEST(distribution, a_histogram_gives_its_values_by_their_weights) {
  const auto file = std::filesystem::temp_directory_path() / "hcasim_traffic_sizes.csv";
  std::ofstream(file) << "# sizes\n64 B,3\n\n4 KiB, 1\n";
  const distribution d = distribution::parse("histogram " + file.filename().string(), knob_kind::bytes, file.parent_path());
  random_stream r(1, "test");
  int small = 0;
  for (int i = 0; i < draws; ++i) {
    const double v = d.draw(r);
    EXPECT_TRUE(v == 64 || v == 4096) << v;
    small += v == 64 ? 1 : 0;
  }
  EXPECT_NEAR(small / static_cast<double>(draws), 0.75, 0.005);
  std::ofstream(file) << "64 B,3\n4 KB,1\n";
  try {
    (void)distribution::parse("histogram " + file.string(), knob_kind::bytes);
    ADD_FAILURE() << "read a unit that does not exist";
  } catch (const quantity_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(file.string() + ":2: '4 KB' has the unit 'KB'")) << e.what();
  }
  std::filesystem::remove(file);
}

TEST(distribution, bad_texts_name_the_mend) {
  const std::map<std::string, std::string> cases{
      {"unifrm 1 B to 2 B", "'unifrm' is no distribution; did you mean 'uniform'?"},
      {"uniform 2 B to 1 B", "'2 B to 1 B' ends before it begins; exchange the two values"},
      {"uniform 2 B", "'2 B' lacks 'to'; write for example 'uniform 4 KiB to 4 KiB'"},
      {"zipf x of 1 B to 2 B", "'x' is not a number; an exponent is written like 1.1"},
      {"lognormal 4 KiB sigma -1", "'4 KiB sigma -1' has a negative deviation"},
      {"lognormal 4 KiB sigma 40", "'4 KiB sigma 40' has no mean that a run would show; write a sigma of 4 at most"},
      {"-4 KiB", "'-4 KiB' is negative"},
      {"histogram /nowhere.csv", "cannot read the histogram '/nowhere.csv'; check the path"}};
  for (const auto& [text, error] : cases) {
    try {
      (void)distribution::parse(text, knob_kind::bytes);
      ADD_FAILURE() << text << " was read";
    } catch (const quantity_error& e) {
      EXPECT_EQ(e.what(), error);
    }
  }
}

TEST(zipf_ranks, frequencies_follow_the_law) {
  for (const double exponent : {0.6, 1.0, 1.4}) {
    constexpr std::uint64_t n = 50;
    const zipf_ranks z(n, exponent);
    random_stream r(3, "test");
    std::vector<int> seen(n);
    for (int i = 0; i < draws; ++i) ++seen.at(z.draw(r));
    double sum = 0;
    for (std::uint64_t k = 1; k <= n; ++k) sum += std::pow(static_cast<double>(k), -exponent);
    for (std::uint64_t k = 1; k <= n; ++k) {
      const double expected = draws * std::pow(static_cast<double>(k), -exponent) / sum;
      EXPECT_NEAR(seen[k - 1], expected, 5 * std::sqrt(expected)) << "rank " << k << ", exponent " << exponent;
    }
  }
}

TEST(latency_histogram, percentiles_are_within_the_stated_error) {
  random_stream r(5, "test");
  latency_histogram h;
  std::vector<double> all;
  for (int i = 0; i < draws; ++i) {
    const auto v = static_cast<std::int64_t>(std::exp(r.unit() * 25));
    h.add(ps(v));
    all.push_back(static_cast<double>(v));
  }
  std::sort(all.begin(), all.end());
  for (const double p : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = all[static_cast<std::size_t>(std::ceil(p * draws)) - 1];
    EXPECT_NEAR(h.percentile(p), exact, latency_histogram::relative_error * exact) << p;
  }
  EXPECT_EQ(h.most(), all.back());
}

TEST(latency_histogram, memory_does_not_grow_with_the_samples) {
  random_stream r(5, "test");
  latency_histogram h;
  for (int i = 0; i < 10'000; ++i) h.add(ps(static_cast<std::int64_t>(r.below(1'000'000))));
  const std::size_t classes = h.classes();
  for (int i = 0; i < 1'000'000; ++i) h.add(ps(static_cast<std::int64_t>(r.below(1'000'000))));
  EXPECT_LE(h.classes(), classes + 1);
}

std::string pattern_error_of(const std::string& text, const host_list& from, const host_list& to) {
  try {
    (void)pairs_of(pattern::parse(text), from, to, 1);
  } catch (const pattern_error& e) {
    return e.what();
  }
  return "";
}

TEST(pattern, pairs_are_those_of_the_name) {
  const host_list a{0, 1, 2};
  const auto count = [](const std::string& text, const host_list& from, const host_list& to) {
    const auto pairs = pairs_of(pattern::parse(text), from, to, 1);
    for (const host_pair& p : pairs) EXPECT_NE(p.from, p.to) << text;
    return pairs.size();
  };
  EXPECT_EQ(count("pairs", a, {3, 4, 5}), 3U);
  EXPECT_EQ(count("all_to_all", a, a), 6U);
  EXPECT_EQ(count("incast", a, {2}), 2U) << "a host does not send to itself";
  EXPECT_EQ(count("outcast", {0}, a), 2U);
  EXPECT_EQ(count("ring", a, a), 3U);
  EXPECT_EQ(count("permutation", a, a), 3U);
  EXPECT_EQ(count("random", a, a), 6U);
  EXPECT_EQ(pattern_error_of("pairs", a, a), "host 0 would send to itself; write pattern: ring or permutation");
  EXPECT_EQ(pattern_error_of("incast", {1}, {1}), "the only pair is a host and itself; name another group in `to`");
  EXPECT_EQ(pattern_error_of("all_to_al", a, a), "'all_to_al' is no pattern; did you mean 'all_to_all'?");
  EXPECT_EQ(pattern_error_of("hot_spot 2", a, a), "'2' is no share of the messages, 0 to 1; write for example hot_spot 0.5");
}

TEST(pattern, a_hot_spot_gets_its_share_of_each_source) {
  for (const host_pair& p : pairs_of(pattern::parse("hot_spot 0.5"), {0, 1, 2, 3}, {0, 1, 2, 3}, 1)) {
    const double others = p.from == 0 ? 1.0 / 3 : 0.25;
    EXPECT_DOUBLE_EQ(p.weight, p.to == 0 ? 0.5 : others) << p.from << " to " << p.to;
  }
}

TEST(pattern, hosts_are_lists_of_ranges) {
  EXPECT_EQ(parse_hosts("0-2, 5"), (host_list{0, 1, 2, 5}));
  for (const char* bad : {"", "a", "3-1", "0,0", "1024", "0-", "1-2-3"}) EXPECT_THROW(parse_hosts(bad), pattern_error) << bad;
}

TEST(flow_record, rates_over_time_keep_every_byte_in_constant_memory) {
  rate_series s;
  std::uint64_t sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    s.add(ps(std::int64_t{i} * 1'000'003), static_cast<std::uint64_t>(i));
    sum += static_cast<std::uint64_t>(i);
  }
  const auto steps = s.steps(ps(100'000LL * 1'000'003));
  EXPECT_LE(steps.size(), rate_series::most_steps);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    seen += steps[i].bytes;
    EXPECT_EQ(steps[i].begin, i == 0 ? 0_ps : steps[i - 1].end);
  }
  EXPECT_EQ(seen, sum);
}

TEST(flow_record, jain_is_one_for_equals_and_one_nth_for_one_alone) {
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({1, 2, 3}), 36.0 / 42);
}

TEST(flow_record, flows_one_after_the_other_do_not_overlap) {
  std::vector<flow_record> r(3, flow_record({0}));
  const auto run = [](flow_record& f, ps from, ps to) {
    f.posted(from);
    f.completed({}, to);
  };
  run(r[0], 0_us, 40_us);
  run(r[1], 50_us, 100_us);
  EXPECT_EQ(overlap({{&r[0], &r[1]}}, 0_us, 100_us), 0);
  run(r[0], 40_us, 75_us);
  EXPECT_DOUBLE_EQ(overlap({{&r[0], &r[1]}}, 0_us, 100_us), 0.25);
  run(r[2], 80_us, 90_us);
  EXPECT_DOUBLE_EQ(overlap({{&r[0], &r[1]}, {&r[2]}}, 0_us, 100_us), 0.35) << "flows of another phase are none of these";
}

}  // namespace
}  // namespace hcasim::traffic
