#include "models/adapter/responder/shared_queue_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

TEST(shared_queue_rules, every_row_happens_and_nothing_else_does) {
  EXPECT_EQ(testing::faults_of(shared_queue_table), "");
}

TEST(shared_queue_rules, one_qp_takes_at_a_time_and_a_stop_is_always_answered) {
  using enum shared_queue_mark;
  using happens = shared_queue_event;
  for (shared_queue_state s : testing::reachable(shared_queue_table)) {
    EXPECT_FALSE(s.has(taking) && shared_queue_table.possible(s, happens::take_begins));
    EXPECT_FALSE(s.has(stopped) && s.any({taking, stopping}));
    EXPECT_FALSE(asked_to_stop(s) && shared_queue_table.possible(s, happens::take_begins));
    EXPECT_FALSE(s.life == shared_queue_life::lost && shared_queue_table.possible(s, happens::breaks));
    if (shared_queue_table.possible(s, happens::start)) {
      EXPECT_EQ(shared_queue_table.step(s, happens::start), shared_queue_state{});
    }
    if (!asked_to_stop(s)) s = shared_queue_table.step(s, happens::stop_later);
    if (s.has(taking)) s = shared_queue_table.step(s, happens::take_ends);
    if (s.has(stopping)) s = shared_queue_table.step(s, happens::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

}  // namespace
}  // namespace hcasim
