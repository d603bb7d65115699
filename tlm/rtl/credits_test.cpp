// Streams by credits: in order and complete under stalls, as fast as the credits come back, and RTL that breaks them.
#include <gtest/gtest.h>

#include "rtl/credits_design.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

class queue_shell : public shell {
 public:
  queue_shell(unsigned fault, const shell_options& o)
      : shell("queue", clock_400, make_credits_design, o), in_(into("in", 32)), out_(out_of("out", 32)) {
    strap("fault", fault);
    in_.on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
    out_.on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      owe(-1);
      answers.push_back(p.get(0, 32));
      last = t;
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void ask(std::uint64_t v, ps t) {
    payload p;
    p.set(0, 32, v);
    push(in_, p, t);
  }
  std::vector<std::uint64_t> answers;
  std::vector<std::string> violations;
  ps last{0};

 private:
  stream& in_;
  stream& out_;
};

std::string outcome(unsigned fault, double stall) {
  shell_options o;
  o.hang_cycles = 500;
  o.stall = stall;
  o.check_x = fault == 0;
  queue_shell q(fault, o);
  for (std::uint64_t i = 0; i < 200; ++i) q.ask(i, clock_400.cycles(10));
  testing::run_for(clock_400.cycles(5000));
  if (!q.violations.empty()) return q.violations.front().substr(q.violations.front().find(": ") + 2);
  if (q.answers.size() != 200) return "lost";
  for (std::uint64_t i = 0; i < 200; ++i) {
    if (q.answers[i] != i + 1) return "out of order";
  }
  return "complete";
}

TEST(credits, everything_comes_in_order_without_stalls) {
  EXPECT_EQ(outcome(0, 0), "complete");
}
TEST(credits, everything_comes_in_order_under_stalls) {
  EXPECT_EQ(outcome(0, 0.6), "complete");
}
// Four credits that are back in the cycle after they were used: one item a cycle, one cycle behind.
TEST(credits, one_item_a_cycle) {
  queue_shell q(0, {});
  for (std::uint64_t i = 0; i < 100; ++i) q.ask(i, clock_400.cycles(10));
  testing::run_until_idle();
  EXPECT_EQ(q.answers.size(), 100U);
  EXPECT_EQ(q.last, clock_400.cycles(10 + 100));
}
TEST(credits, sending_without_a_credit_is_found) {
  EXPECT_EQ(outcome(1, 0.6), "out_valid sends without a credit");
}
TEST(credits, too_many_credits_are_found) {
  EXPECT_EQ(outcome(2, 0), "in_credit gives back a credit, and none is out");
}
TEST(credits, credits_that_never_come_back_are_a_hang) {
  EXPECT_EQ(outcome(3, 0), "hang: stream in has had no credit for 501 cycles (in_credit)");
}
TEST(credits, an_item_that_is_lost_is_a_hang) {
  EXPECT_EQ(outcome(4, 0), "hang: 1 answers are missing, nothing has moved for 501 cycles (out_valid stays low)");
}

}  // namespace
}  // namespace hcasim::rtl
