#include "models/adapter/responder/shared_queue_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

TEST(shared_queue_rules, every_row_happens_and_nothing_else_does) {
  EXPECT_EQ(testing::faults_of(shared_queue_table), "");
}

TEST(shared_queue_rules, one_qp_takes_at_a_time) {
  using enum shared_queue_mark;
  using happens = shared_queue_event;
  for (const shared_queue_state s : testing::reachable(shared_queue_table)) {
    EXPECT_FALSE(s.has(taking) && shared_queue_table.possible(s, happens::take_begins));
    EXPECT_FALSE(s.has(taking) && s.life == shared_queue_life::ended);
    EXPECT_FALSE(s.life == shared_queue_life::lost && shared_queue_table.possible(s, happens::breaks));
    EXPECT_EQ(shared_queue_table.possible(s, happens::start), !s.has(taking));
    if (s.has(taking)) continue;
    EXPECT_EQ(shared_queue_table.step(s, happens::start), shared_queue_state{});
  }
}

}  // namespace
}  // namespace hcasim
