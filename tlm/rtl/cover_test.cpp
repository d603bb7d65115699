// Bins, crosses and goals, in a file that merges with the coverage of RTL.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tlm/rtl/cover_group.h"
#include "tlm/rtl/coverage_file.h"

namespace hcasim::rtl {
namespace {

class cover : public ::testing::Test {
 protected:
  ~cover() override { std::filesystem::remove(file_); }
  std::string file_ = ::testing::TempDir() + "cover_" + std::to_string(::getpid()) + ".dat";
};

TEST_F(cover, a_value_is_counted_in_the_one_bin_that_holds_it) {
  cover_group g("requests");
  cover_point& p = g.point("bytes").bin("one", 1).bins("some", 2, 11, 3).bin("many", 100, ~std::uint64_t{0});
  for (const std::uint64_t v : {0, 1, 2, 5, 6, 9, 10, 11, 12, 99, 100}) {
    p.set(v);
    g.sample();
  }
  p.set(~std::uint64_t{0});
  g.sample();
  g.sample();  // without a value
  EXPECT_EQ(p.count("one"), 1U);
  EXPECT_EQ(p.count("some[0]"), 1U) << "2 to 4";
  EXPECT_EQ(p.count("some[1]"), 2U) << "5 to 7";
  EXPECT_EQ(p.count("some[2]"), 3U) << "8 to 11";
  EXPECT_EQ(p.count("many"), 2U);
}

TEST_F(cover, a_cross_counts_what_met_in_one_sample) {
  cover_group g("requests");
  cover_point& kind = g.point("kind").bin("read", 0).bin("write", 1);
  cover_point& bytes = g.point("bytes").bin("one", 1).bin("many", 2, 9);
  cover_cross& both = g.cross("both", {&kind, &bytes}).leave_out({"read", "one"});
  const auto sample = [&](std::uint64_t k, std::uint64_t b) {
    kind.set(k);
    bytes.set(b);
    g.sample();
  };
  sample(1, 1);
  sample(1, 5);
  sample(1, 7);
  sample(1, 10);  // fits no bin
  kind.set(1);
  g.sample();
  EXPECT_EQ(both.count({"write", "one"}), 1U);
  EXPECT_EQ(both.count({"write", "many"}), 2U);
  EXPECT_EQ(both.count({"read", "many"}), 0U);
  EXPECT_EQ(both.in_left_out(), 0U);
  sample(0, 1);
  EXPECT_EQ(both.in_left_out(), 1U);
  g.append_to(file_);
  coverage_file f;
  f.add(file_);
  EXPECT_EQ(f.of("bin", "requests").points, 4U + 3U) << "without the one left out";
  EXPECT_EQ(f.missed("bin"), std::vector<std::string>{"bin requests both.read.many"});
}

TEST_F(cover, a_goal_is_reached_by_the_sum_of_runs) {
  for (int run = 0; run < 2; ++run) {
    cover_group g("requests");
    cover_point& p = g.point("kind").bin("read", 0).bin("write", 1).goal(4);
    p.set(0);
    g.sample(2 + run);
    p.set(1);
    g.sample();
    g.append_to(file_);
  }
  coverage_file f;
  f.add(file_);
  EXPECT_EQ(f.of("bin").hit, 1U);
  EXPECT_EQ(f.missed("bin"), std::vector<std::string>{"bin requests kind.write (2 of 4)"});
  const std::string merged = file_ + ".merged";
  f.write(merged);
  coverage_file again;
  again.add(merged);
  std::filesystem::remove(merged);
  EXPECT_EQ(again.missed("bin"), f.missed("bin"));
}

TEST_F(cover, a_declaration_that_cannot_be_is_refused) {
  cover_group g("requests");
  cover_point& p = g.point("kind").bin("read", 3, 5);
  const auto refused = [](const std::string& what, const std::function<void()>& declare) {
    try {
      declare();
      ADD_FAILURE() << "not refused: " << what;
    } catch (const std::invalid_argument& e) {
      EXPECT_EQ(e.what(), what);
    }
  };
  refused("kind.write: it has values of read", [&] { p.bin("write", 0, 3); });
  refused("kind.write: it has values of read", [&] { p.bin("write", 4); });
  refused("kind.read: there are two of this name", [&] { p.bin("read", 9); });
  refused("kind.x: its first value is above its last one", [&] { p.bin("x", 9, 8); });
  refused("kind.x: fewer values than bins", [&] { p.bins("x", 9, 10, 3); });
  refused("bin of kind 'a b': write a name of letters, digits and _-+[]", [&] { p.bin("a b", 9); });
  refused("requests: there are two points 'kind'", [&] { g.point("kind"); });
  refused("cross both: point bytes has no bins yet", [&] { g.cross("both", {&p, &g.point("bytes")}); });
  refused("cross one: point kind has no bin 'write'", [&] { g.cross("one", {&p}).leave_out({"write"}); });
}

}  // namespace
}  // namespace hcasim::rtl
