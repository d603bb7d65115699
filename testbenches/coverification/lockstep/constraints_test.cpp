// Constraints on random streams, and the bins that streams are counted in.
#include "testbenches/coverification/lockstep/constraints.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "testbenches/coverification/lockstep/stream_cover.h"
#include "testbenches/program/places/places.h"
#include "tlm/rtl/coverage_file.h"

namespace hcasim::lockstep {
namespace {

item_field field_of(const std::string& unit, std::string_view name) {
  for (const item_field& f : item_fields(unit)) {
    if (f.name == name) return f;
  }
  throw std::invalid_argument("no field " + std::string(name));
}

options random_options(std::uint64_t requests) {
  options o;
  o.requests = requests;
  return o;
}

struct constrained {
  const char* unit;
  const char* text;
  friend std::ostream& operator<<(std::ostream& to, const constrained& c) { return to << c.unit; }
};
class constrain : public ::testing::TestWithParam<constrained> {};

// A constrained stream has only allowed values and all of its items, and model and RTL agree on the stream.
TEST_P(constrain, a_stream_has_only_allowed_items) {
  const constraints c(GetParam().unit, GetParam().text);
  const options o = random_options(3'000);
  const item_stream s = c.generate(o);
  ASSERT_EQ(s.size(), o.requests);
  for (const item& i : s) ASSERT_TRUE(c.allow(i));
  EXPECT_EQ(s, c.generate(o)) << "one seed, one stream";
  const item_stream free = make_bench(GetParam().unit)->generate(o);
  EXPECT_FALSE(std::all_of(free.begin(), free.end(), [&](const item& i) { return c.allow(i); })) << "it makes a difference";
  const report r = run_isolated(GetParam().unit, s, o);
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.requests, o.requests);
}

INSTANTIATE_TEST_SUITE_P(units, constrain,
                         ::testing::Values(constrained{"key_check", "kind = check; remote = 1; rights = 2; pd = 1; gap = 0..3"},
                                           constrained{"page_walker", "kind = walk; write = 1; page_shift = 12, 21; gap = 0"},
                                           constrained{"context_cache", "kind = fetch*3, update; hold = 0..5, 100"},
                                           constrained{"doorbell", "kind = sq, blueflame; gap = 4..9"}));

class events : public ::testing::TestWithParam<const char*> {};

// Events are more than half of the items that are answered, and both sides are alike in them.
TEST_P(events, outweigh_and_are_answered_alike) {
  const std::string unit = GetParam();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    options o = random_options(4'000);
    o.events = true;
    o.seed = seed;
    const item_stream s = draw(unit, o);
    const auto of = [&](std::uint32_t kinds) {
      return std::count_if(s.begin(), s.end(), [&](const item& i) { return (kinds >> kind_of(i) & 1) != 0; });
    };
    EXPECT_GT(of(kinds_of_events(unit)), of(~(kinds_of_events(unit) | kinds_of_memory(unit)))) << seed;
    const report r = run_isolated(unit, s, o);
    EXPECT_EQ(r.problem, "") << seed;
    EXPECT_EQ(r.differences, 0U) << seed;
    EXPECT_EQ(out_of_bounds(unit, r, o), "") << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(units, events, ::testing::Values("key_check", "page_walker", "context_cache", "qpc_cache"));

TEST(streams, of_events_are_of_units_that_have_some) {
  const auto named = [](const std::string& unit, bool storms) {
    const auto kinds = streams_for(unit, storms);
    return std::any_of(kinds.begin(), kinds.end(), [](const stream_kind& k) { return std::string(k.name) == "events"; });
  };
  EXPECT_TRUE(named("key_check", false));
  EXPECT_FALSE(named("key_check", true));
  EXPECT_FALSE(named("doorbell", false));
}

TEST(constraints, draw_gaps_by_weight) {
  const constraints c("key_check", "gap = 0..1*9, 50\nkind = check");
  const item_field gap = field_of("key_check", "gap");
  std::map<std::uint64_t, unsigned> seen;
  const item_stream s = c.generate(random_options(4'000));
  for (const item& i : s) ++seen[gap.get(i)];
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_NEAR(seen[50], 400, 80);
  EXPECT_NEAR(seen[0], 1800, 200);
}

TEST(constraints, weigh_kinds_against_each_other) {
  const options o = random_options(4'000);
  const auto drains = [&](const char* text) {
    const item_stream s = constraints("key_check", text).generate(o);
    return std::count_if(s.begin(), s.end(), [](const item& i) { return kind_of(i) == 2; });
  };
  const auto as_they_come = drains("kind = check, drain");
  EXPECT_GT(as_they_come, 50);
  EXPECT_NEAR(static_cast<double>(drains("kind = check*8, drain")), static_cast<double>(as_they_come) / 8,
              static_cast<double>(as_they_come) / 8);
}

TEST(constraints, come_from_a_file_with_comments) {
  const std::string file = ::testing::TempDir() + "constraints_" + std::to_string(getpid());
  std::ofstream(file) << "# only writes\nkind = check  # and no drain\nrights = 0x2; gap = 0\n";
  const constraints c("key_check", "@" + file);
  std::filesystem::remove(file);
  const item_field rights = field_of("key_check", "rights");
  const item_stream s = c.generate(random_options(100));
  for (const item& i : s) EXPECT_EQ(rights.get(i), 2U);
}

TEST(constraints, that_mean_nothing_are_refused_by_name) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(constraints("key_check", text).generate(random_options(200)));
      return "nothing";
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refused("kind check"), "constrain: 'kind check': write FIELD = VALUES, as gap = 0..3");
  EXPECT_EQ(refused("kind = read").substr(0, 71), "constrain: 'kind = read': key_check has no items of kind 'read'; kinds ");
  EXPECT_EQ(refused("address = 1").substr(0, 71), "constrain: 'address = 1': items of key_check have no field 'address'; t");
  EXPECT_EQ(refused("gap = 3..1"), "constrain: 'gap = 3..1': 3..1 begins above its end");
  EXPECT_EQ(refused("gap = 70000"), "constrain: 'gap = 70000': 70000 does not fit into the 16 bits of gap");
  EXPECT_EQ(refused("gap = 1*0"), "constrain: 'gap = 1*0': '0' is not a weight above 0");
  EXPECT_EQ(refused("pd = x"), "constrain: 'pd = x': 'x' is not a number");
  EXPECT_EQ(refused("pd = 1; pd = 2"), "constrain: 'pd = 2': pd is there already");
  EXPECT_EQ(refused("@/nowhere"), "constrain: /nowhere cannot be read");
  const std::string few = refused("pd = 77");
  EXPECT_NE(few.find("were left out by 'pd = 77', where they have 0x0 to 0x"), std::string::npos) << few;
}

// Fields lie where testbenches in Python find them.
TEST(constraints, fields_are_those_of_the_reader_in_python) {
  const std::string script = std::string("cd ") + places::source +
                             "/testbenches/coverification/lockstep && python3 -B -c 'import stream\n"
                             "for unit, kinds in stream.KINDS.items():\n"
                             "  for number, kind in enumerate(kinds):\n"
                             "    print(unit, number, \"kind\", kind)\n"
                             "    for name, at in stream.fields_of(unit, kind).items(): print(unit, number, name, *at)'";
  FILE* const in = popen(script.c_str(), "r");
  ASSERT_NE(in, nullptr);
  std::string said;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), in)) said.append(buffer.data(), n);
  ASSERT_EQ(pclose(in), 0) << said;
  for (const std::string& unit : bench_names()) {
    const auto kinds = item_kinds(unit);
    for (unsigned k = 0; k < kinds.size(); ++k) {
      std::ostringstream expected;
      expected << unit << ' ' << k << " kind " << kinds[k] << '\n';
      EXPECT_NE(said.find(expected.str()), std::string::npos) << expected.str();
      for (const item_field& f : item_fields(unit)) {
        if (!f.of(k)) continue;
        std::ostringstream line;
        line << unit << ' ' << k << ' ' << f.name << ' ' << f.word << ' ' << f.low << ' ' << f.bits << '\n';
        EXPECT_NE(said.find(line.str()), std::string::npos) << line.str();
      }
    }
  }
}

// A constraint is seen in the bins: nothing else was counted.
TEST(stream_bins, show_what_a_constraint_leaves_out) {
  options o = random_options(2'000);
  o.coverage_file = ::testing::TempDir() + "bins_" + std::to_string(getpid()) + ".dat";
  const item_stream s = constraints("key_check", "kind = check; remote = 1; gap = 0").generate(o);
  EXPECT_EQ(run_isolated("key_check", s, o).problem, "");
  rtl::coverage_file f;
  f.add(o.coverage_file);
  std::filesystem::remove(o.coverage_file);
  const std::vector<std::string> missed = f.missed("bin", "key_check_stream");
  const auto is_missed = [&](const char* name) {
    return std::find(missed.begin(), missed.end(), std::string("bin key_check_stream ") + name) != missed.end();
  };
  for (const char* name : {"kind.drain", "side.local", "gap.few", "kind_x_gap.check.many"})
    EXPECT_TRUE(is_missed(name)) << name;
  for (const char* name : {"kind.check", "side.remote", "gap.none", "side_x_verdict.remote.granted"})
    EXPECT_FALSE(is_missed(name)) << name;
}

}  // namespace
}  // namespace hcasim::lockstep
