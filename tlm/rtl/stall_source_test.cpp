// The stall of a transfer: its dependences, and that a stream of RTL keeps the stall.
#include "tlm/rtl/stall_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "rtl/relay_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

TEST(stall_sources, are_open_or_stall_their_part_of_all_transfers) {
  stall_source open(7, "x", 0);
  stall_source stalls(7, "x", 0.3), storms(7, "x", 0, true);
  EXPECT_TRUE(open.open());
  EXPECT_FALSE(storms.open());
  int stalled = 0, cycles = 0, long_ones = 0;
  constexpr int n = 20'000;
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(open.draw(static_cast<std::uint64_t>(i % 3)), 0U);
    const unsigned d = stalls.draw(i % 2 ? static_cast<std::uint64_t>(i % 50) : 0);
    stalled += d > 0;
    cycles += static_cast<int>(d);
    long_ones += storms.draw() >= 160;
  }
  EXPECT_NEAR(stalled, 0.3 * n, 0.02 * n);
  EXPECT_NEAR(cycles, 0.3 / 0.7 * n, 0.03 * n);
  EXPECT_NEAR(long_ones, n / 64, n / 256);
}

TEST(stall_sources, by_number_depend_only_on_seed_and_name) {
  stall_source g(3, "ring", 0.4), other(3, "qp", 0.4);
  const stall_source fixed(3, "ring", 0.4);
  int differ = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const unsigned d = g.draw();
    EXPECT_EQ(d, fixed.delay(i));
    differ += d != other.draw();
  }
  EXPECT_GT(differ, 200);
}

// The first transfer from each place on is stalled for long, on a side that is a few transfers behind, too.
TEST(stall_sources, stall_one_transfer_for_long_at_each_place) {
  std::uint64_t progress = 0;
  stall_source one(5, "ring", 0, false, &progress), behind(5, "ring", 0, false, &progress);
  EXPECT_TRUE(one.open());
  one.stall_one_long(400);
  behind.stall_one_long(400);
  EXPECT_FALSE(one.open());
  std::vector<std::uint64_t> stalled, stalled_behind;
  for (; progress < 3 * stall_source::long_period; ++progress) {
    if (one.draw(progress % 7) >= 160) stalled.push_back(progress);
    if (progress % 3 == 0 && behind.draw(progress % 5) >= 160) stalled_behind.push_back(progress);
  }
  EXPECT_EQ(stalled, (std::vector<std::uint64_t>{400, 4'400, 8'400}));
  EXPECT_EQ(stalled_behind, (std::vector<std::uint64_t>{402, 4'401, 8'400}));
}

// One of two sides has extra transfers, of one address in three. By name, the other addresses have the same stalls at once, the
// extra ones from the next era on. By number, hardly any stalls agree.
TEST(stall_sources, by_what_is_transferred_are_the_same_for_a_side_with_one_transfer_more) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::uint64_t progress = 0;
    stall_source one(seed, "rd", 0.5, false, &progress), more(seed, "rd", 0.5, false, &progress);
    stall_source one_numbered(seed, "rd", 0.5), more_numbered(seed, "rd", 0.5);
    random_stream r(seed, "addresses");
    std::uint64_t disturbed = 0, disturbed_in = ~std::uint64_t{0}, differ = 0;
    for (progress = 0; progress < 20 * recurrence::era; ++progress) {
      const std::uint64_t era = progress / recurrence::era;
      const std::uint64_t what = 1 + r.below(30);
      if (r.chance(0.01) && era != disturbed_in) {
        disturbed = 1 + r.below(30);
        disturbed_in = era;
        more.draw(disturbed);
        more_numbered.draw();
      }
      const unsigned a = one.draw(what), b = more.draw(what);
      if (what != disturbed || era != disturbed_in) {
        ASSERT_EQ(a, b) << "seed " << seed << ", transfer " << progress;
      }
      differ += one_numbered.draw() != more_numbered.draw();
    }
    EXPECT_GT(differ, 100U);
  }
}

// In the same era a repeated address is stalled anew.
TEST(stall_sources, tell_one_coming_of_a_thing_from_the_next) {
  std::uint64_t progress = 0;
  stall_source g(1, "rd", 0.5, false, &progress);
  std::vector<unsigned> first, second;
  for (int era = 0; era < 200; ++era, progress += recurrence::era) {
    first.push_back(g.draw(5));
    second.push_back(g.draw(5));
  }
  int same = 0, as_before = 0;
  for (std::size_t i = 1; i < first.size(); ++i) {
    same += first[i] == second[i];
    as_before += first[i] == first[i - 1];
  }
  EXPECT_LT(same, 120);
  EXPECT_LT(as_before, 120);
}

// An item that comes in at `b` may go out at `y` in the same cycle.
class relay_shell : public open_shell {
 public:
  explicit relay_shell(const std::string& name, const shell_options& o)
      : open_shell(name.c_str(), clock_400, make_relay_design, o), b_(into("b", 8)) {
    into("a", 8);
    out_of("x", 16);
    stream& y = out_of("y", 8);
    stall_by(y, [](const payload& p) { return p.get(0, 8) + 1; });
    b_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { taken.emplace_back(p.get(0, 8), t); };
    y.on_transfer = [this](const payload& p, std::uint64_t, ps t) { passed.emplace_back(p.get(0, 8), t); };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void give(std::uint64_t v, ps t) {
    payload p;
    p.set(0, 8, v);
    push(b_, p, t, 0, v + 1);
  }
  std::vector<std::pair<std::uint64_t, ps>> taken, passed;
  std::vector<std::string> violations;

 private:
  stream& b_;
};

TEST(stall_sources, a_stream_out_of_rtl_is_stalled_by_what_it_offers) {
  struct run {
    run(std::uint64_t s, const shell_options& o) : seed(s), shell("relay" + std::to_string(s), o) {}
    std::uint64_t seed;
    relay_shell shell;
    std::vector<std::uint64_t> values;
  };
  std::deque<run> runs;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    shell_options o;
    o.seed = seed;
    o.stall = 0.05 * static_cast<double>(seed % 17);
    run& x = runs.emplace_back(seed, o);
    random_stream r(seed, "values");
    ps t = clock_400.cycles(10);
    for (int i = 0; i < 60; ++i) {
      x.values.push_back(r.below(12));
      x.shell.give(x.values.back(), t);
      t += clock_400.cycles(seed % 2 ? 100 : 1);  // one alone, or one in each cycle
    }
  }
  testing::run_until_idle();
  for (run& x : runs) {
    EXPECT_TRUE(x.shell.violations.empty()) << x.seed << ": " << x.shell.violations.front();
    ASSERT_EQ(x.shell.passed.size(), x.values.size()) << "seed " << x.seed;
    stall_source out(x.seed, "y", 0.05 * static_cast<double>(x.seed % 17));
    ps free{0};
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      ASSERT_EQ(x.shell.passed[i].first, x.values[i]);
      const ps could = std::max(x.shell.taken[i].second, free);
      EXPECT_EQ(x.shell.passed[i].second, could + clock_400.cycles(out.draw(x.values[i] + 1)))
          << "seed " << x.seed << ", " << i;
      free = x.shell.passed[i].second + clock_400.cycles(1);
    }
  }
}

}  // namespace
}  // namespace hcasim::rtl
