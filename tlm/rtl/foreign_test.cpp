// Foreign RTL, unchanged: FIFOs, slices of packed vectors, inputs sampled in reset, any number of resets.
#include <gtest/gtest.h>

#include "rtl/foreign_design.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

// Three queues through one design: a FIFO of 12 bits and two lanes of 8.
class foreign : public shell {
 public:
  static constexpr unsigned added = 9;
  std::vector<std::uint64_t> came[3];
  ps last{0};

  explicit foreign(const shell_options& o) : shell("foreign", clock_400, make_foreign_design, o) {
    strap("cfg", added);
    const char* const in[] = {"fifo", "lane0", "lane1"};
    const char* const out[] = {"fifo_out", "lane0_out", "lane1_out"};
    for (unsigned q = 0; q < 3; ++q) {
      const unsigned bits = q == 0 ? 12 : 8;
      in_[q] = &into(in[q], bits);
      out_of(out[q], bits).on_transfer = [this, q, bits](const payload& p, std::uint64_t, ps t) {
        came[q].push_back(p.get(0, bits));
        last = t;
        owe(-1);
      };
    }
  }
  void send(unsigned q, std::uint64_t v) {
    payload p;
    p.set(0, 12, v);
    owe(1);
    push(*in_[q], p, now());
  }

 private:
  stream* in_[3];
};

void everything_comes_out(std::uint64_t seed, double stall, bool storms) {
  shell_options o;
  o.seed = seed;
  o.stall = stall;
  o.storms = storms;
  o.check_x = true;
  foreign f(o);
  std::vector<std::uint64_t> wanted[3];
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto q = static_cast<unsigned>(i * 7 % 3);
    const std::uint64_t v = i * 0x9e37 >> 3 & (q == 0 ? 0xfff : 0xff);
    f.send(q, v);
    wanted[q].push_back(q == 0 ? v : (v + foreign::added) & 0xff);
  }
  testing::run_until_idle();
  for (unsigned q = 0; q < 3; ++q) EXPECT_EQ(f.came[q], wanted[q]) << "queue " << q << ", seed " << seed;
}

TEST(rtl_foreign, everything_comes_out_without_stalls) {
  everything_comes_out(1, 0, false);
}
TEST(rtl_foreign, everything_comes_out_with_stalls) {
  everything_comes_out(2, 0.4, false);
}
TEST(rtl_foreign, everything_comes_out_in_storms) {
  everything_comes_out(3, 0.1, true);
}

// Written in cycles 0 to 99, each read in the cycle after, its data one later.
TEST(rtl_foreign, a_fifo_moves_one_a_cycle) {
  foreign f({});
  for (std::uint64_t i = 0; i < 100; ++i) f.send(0, i);
  testing::run_until_idle();
  ASSERT_EQ(f.came[0].size(), 100U);
  EXPECT_EQ(f.last, clock_400.cycles(99 + 2));
}
TEST(rtl_foreign, a_lane_moves_one_a_cycle) {
  foreign f({});
  for (std::uint64_t i = 0; i < 100; ++i) f.send(2, i);
  testing::run_until_idle();
  ASSERT_EQ(f.came[2].size(), 100U);
  EXPECT_EQ(f.last, clock_400.cycles(99 + 1));
}

}  // namespace
}  // namespace hcasim::rtl
