#include "models/adapter/processing_units/processing_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using enum processing_step;

// 1 GHz.
struct processing_bench {
  clock_domain clock{frequency{1e9}};
  processing_units pool;
  testing::fake_initiator<processing_request> requester{"requester"};
  testing::fake_initiator<processing_request> responder{"responder"};
  std::deque<processing_request> requests;

  explicit processing_bench(const processing_units_config& c) : pool("pool", c, clock) {
    requester.out.bind(pool.requester);
    responder.out.bind(pool.responder);
  }
  processing_request& ask(processing_step step, std::uint32_t qpn, ps at, std::uint32_t bytes = 0) {
    processing_request& r = requests.emplace_back();
    r.step = step;
    r.qpn = qpn;
    r.bytes = bytes;
    const bool of_responder = step == request_in || step == response_out;
    (of_responder ? responder : requester).send(r, at);
    return r;
  }
  [[nodiscard]] ps answered(const processing_request& r) const {
    return std::min(requester.answered(r), responder.answered(r));
  }
};

processing_units_config each_its_own(std::uint32_t units) {
  processing_units_config c;
  c.units = units;
  c.wqe = 10;
  c.request_in = 20;
  c.response_in = 30;
  c.response_out = 40;
  return c;
}

TEST(ProcessingUnits, EachKindTakesItsTime) {
  processing_bench b(each_its_own(8));
  const auto& a = b.ask(wqe, 1, 0_ns);
  const auto& c = b.ask(request_in, 2, 0_ns);
  const auto& d = b.ask(response_in, 3, 0_ns);
  const auto& e = b.ask(response_out, 4, 0_ns);
  const auto& free_of_cost = b.ask(acknowledge_in, 5, 7_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(a), 10_ns);
  EXPECT_EQ(b.answered(c), 20_ns);
  EXPECT_EQ(b.answered(d), 30_ns);
  EXPECT_EQ(b.answered(e), 40_ns);
  EXPECT_EQ(b.answered(free_of_cost), 7_ns);
}

TEST(ProcessingUnits, BothRolesShareTheUnits) {
  processing_bench b(each_its_own(1));
  const auto& sends = b.ask(wqe, 1, 0_ns);
  const auto& serves = b.ask(request_in, 2, 1_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(sends), 10_ns);
  EXPECT_EQ(b.answered(serves), 30_ns);
}

// Steps of one QP follow one another, of either role, and leave the other units to other QPs.
TEST(ProcessingUnits, AQpIsOnOneUnitAtATime) {
  processing_bench b(each_its_own(4));
  const auto& first = b.ask(response_in, 1, 0_ns);
  const auto& second = b.ask(request_in, 1, 0_ns);
  const auto& third = b.ask(wqe, 1, 0_ns);
  const auto& other = b.ask(wqe, 2, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(first), 30_ns);
  EXPECT_EQ(b.answered(second), 50_ns);
  EXPECT_EQ(b.answered(third), 60_ns);
  EXPECT_EQ(b.answered(other), 10_ns);
}

// One response among hundreds of requests waits for at most one step of each other kind.
TEST(ProcessingUnits, KindsTakeTurns) {
  processing_bench b(each_its_own(1));
  for (std::uint32_t i = 0; i < 100; ++i) b.ask(request_in, 10 + i, 0_ns);
  const auto& response = b.ask(response_out, 1, 1_ns);
  const auto& work = b.ask(wqe, 2, 1_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(response), 60_ns);
  EXPECT_EQ(b.answered(work), 70_ns);
}

// The payload keeps the unit, and its QP, but not the step.
TEST(ProcessingUnits, LongPayloadsKeepTheUnit) {
  processing_units_config c = each_its_own(2);
  c.write_piece = 7;
  c.read_line = 2;
  processing_bench b(c);
  const auto& two = b.ask(response_in, 1, 0_ns, 257);
  const auto& five_lines = b.ask(response_out, 2, 0_ns, 257);
  const auto& behind = b.ask(wqe, 1, 0_ns);
  const auto& other = b.ask(wqe, 3, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(two), 30_ns);
  EXPECT_EQ(b.answered(five_lines), 40_ns);
  EXPECT_EQ(b.answered(other), 30_ns + 7_ns + 10_ns);
  EXPECT_EQ(b.answered(behind), b.answered(other) + 10_ns) << "behind the step of its QP, then for a unit";
}

// The pool's rate is units over the time of a step; one QP has the rate of one unit.
TEST(ProcessingUnits, RateIsUnitsOverTime) {
  processing_bench b(each_its_own(3));
  for (std::uint32_t i = 0; i < 600; ++i) b.ask(request_in, 1 + i % 50, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(now(), 600 / 3 * 20_ns);
}

}  // namespace
}  // namespace hcasim
