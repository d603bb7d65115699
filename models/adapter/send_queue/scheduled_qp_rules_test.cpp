#include "models/adapter/send_queue/scheduled_qp_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum scheduled_qp_life;
using enum scheduled_qp_mark;
using e = scheduled_qp_event;

TEST(scheduled_qp_rules, exactly_the_rows_of_the_table_happen) {
  EXPECT_EQ(testing::faults_of(scheduled_qp_table), "");
}

TEST(scheduled_qp_rules, impossible_states_are_not_reached) {
  for (const queue_status s : testing::reachable(scheduled_qp_table)) {
    // The WQE in front goes to window_unit once, of a queue whose ring is known.
    EXPECT_FALSE(s.has(changing) && s.has(changed));
    EXPECT_FALSE(s.any({changing, changed}) && (s.life == unread || scheduled_qp_table.possible(s, e::change_begins)));
    EXPECT_FALSE(s.has(stopped) && s.any({changing, stopping}));
    // A new life takes over only the stopped queue's place among the scheduled.
    if (scheduled_qp_table.possible(s, e::start)) {
      const queue_status begun = scheduled_qp_table.step(s, e::start);
      EXPECT_EQ(begun.life, unread);
      EXPECT_FALSE(begun.any({changing, changed, paused, draining, stopping, stopped}));
    }
    // A queue is scheduled once, and each scheduled queue gets its turn.
    EXPECT_NE(scheduled_qp_table.possible(s, e::rung), s.any({scheduled, paused, stopping, stopped}));
    EXPECT_EQ(scheduled_qp_table.possible(s, e::turn_ends), s.has(scheduled));
    EXPECT_TRUE(s.has(stopping) || scheduled_qp_table.possible(s, e::stop_later));
    EXPECT_TRUE(!s.has(stopped) || scheduled_qp_table.possible(s, e::start));
    // In SQD no WQE is begun; the begun ones are issued and then drained.
    EXPECT_FALSE(s.has(draining) && !s.has(paused));
    EXPECT_FALSE(s.has(paused) && scheduled_qp_table.possible(s, e::change_begins));
    EXPECT_EQ(may_issue(s), !s.any({changing, stopping, stopped}) && (!s.has(paused) || s.has(changed)));
    EXPECT_TRUE(asked_to_stop(s) || s.any({changing, changed}) || !s.has(draining) ||
                scheduled_qp_table.possible(s, e::drained));
    // A paused queue can go on, unless it is to stop.
    EXPECT_EQ(scheduled_qp_table.possible(s, e::resume), s.has(paused) && !asked_to_stop(s));
  }
}

TEST(scheduled_qp_rules, a_stop_is_always_answered) {
  for (queue_status s : testing::reachable(scheduled_qp_table)) {
    if (!s.any({stopping, stopped})) s = scheduled_qp_table.step(s, e::stop_later);
    if (s.has(changing)) s = scheduled_qp_table.step(s, e::change_ends);
    if (s.has(stopping)) s = scheduled_qp_table.step(s, e::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

}  // namespace
}  // namespace hcasim
