#include "models/adapter/send_queue/queue_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum queue_life;
using enum queue_mark;
using e = queue_event;

TEST(queue_rules, every_row_happens_and_nothing_else_does) {
  EXPECT_EQ(testing::faults_of(queue_table), "");
}

TEST(queue_rules, what_cannot_be_is_not_reached) {
  for (const queue_status s : testing::reachable(queue_table)) {
    // The WQE in front goes to window_unit once, of a queue whose ring is known.
    EXPECT_FALSE(s.has(changing) && s.has(changed));
    EXPECT_FALSE(s.any({changing, changed}) && (s.life == unread || queue_table.possible(s, e::change_begins)));
    EXPECT_FALSE(s.has(stopped) && s.any({changing, stopping}));
    // A new life takes over from a stopped queue its place in line only.
    if (queue_table.possible(s, e::start)) {
      const queue_status begun = queue_table.step(s, e::start);
      EXPECT_EQ(begun.life, unread);
      EXPECT_FALSE(begun.any({changing, changed, paused, draining, stopping, stopped}));
    }
    // A queue stands in line once, and each one in line gets out.
    EXPECT_NE(queue_table.possible(s, e::rung), s.any({scheduled, paused, stopping, stopped}));
    EXPECT_EQ(queue_table.possible(s, e::turn_ends), s.has(scheduled));
    EXPECT_TRUE(s.has(stopping) || queue_table.possible(s, e::stop_later));
    EXPECT_TRUE(!s.has(stopped) || queue_table.possible(s, e::start));
    // In SQD nothing is begun; what was, is issued and then drained.
    EXPECT_FALSE(s.has(draining) && !s.has(paused));
    EXPECT_FALSE(s.has(paused) && queue_table.possible(s, e::change_begins));
    EXPECT_EQ(may_issue(s), !s.any({changing, stopping, stopped}) && (!s.has(paused) || s.has(changed)));
    EXPECT_TRUE(asked_to_stop(s) || s.any({changing, changed}) || !s.has(draining) || queue_table.possible(s, e::drained));
    // A paused queue can go on, unless it is to stop.
    EXPECT_EQ(queue_table.possible(s, e::go_on), s.has(paused) && !asked_to_stop(s));
  }
}

TEST(queue_rules, a_stop_is_always_answered) {
  for (queue_status s : testing::reachable(queue_table)) {
    if (!s.any({stopping, stopped})) s = queue_table.step(s, e::stop_later);
    if (s.has(changing)) s = queue_table.step(s, e::change_ends);
    if (s.has(stopping)) s = queue_table.step(s, e::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

}  // namespace
}  // namespace hcasim
