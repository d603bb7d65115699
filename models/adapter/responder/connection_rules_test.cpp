#include "models/adapter/responder/connection_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum connection_life;
using enum connection_mark;
using e = connection_event;

TEST(connection_rules, every_row_happens_and_nothing_else_does) {
  EXPECT_EQ(testing::faults_of(connection_table), "");
}

TEST(connection_rules, what_cannot_be_is_not_reached) {
  for (const connection_state s : testing::reachable(connection_table)) {
    // Software is told once in a life, and only of an error.
    EXPECT_FALSE(s.has(told_last) && (s.life == receiving || connection_table.possible(s, e::last_wqe)));
    // The list of an SRQ is taken from by one at a time; its record answers nothing and has no errors.
    EXPECT_FALSE(s.has(taking) && (s.has(answering) || in_error(s) || connection_table.possible(s, e::take_begins)));
    // READs of a QP are answered one after the other.
    EXPECT_FALSE(s.has(answering) && connection_table.possible(s, e::answers_begin));
    EXPECT_FALSE(s.has(stopped) && s.any({answering, taking, stopping}));
    // A new life forgets the old one; there is no other way out of an error.
    if (connection_table.possible(s, e::start)) {
      EXPECT_EQ(connection_table.step(s, e::start), connection_state{});
    }
    for (std::size_t n = 0; n < connection_table.names().events.size(); ++n) {
      const auto event = static_cast<e>(n);
      if (event == e::start || !connection_table.possible(s, event)) continue;
      EXPECT_TRUE(!in_error(s) || in_error(connection_table.step(s, event)));
    }
    EXPECT_TRUE(s.has(stopping) || connection_table.possible(s, e::stop_later));
    EXPECT_TRUE(!s.has(stopped) || connection_table.possible(s, e::start));
  }
}

TEST(connection_rules, a_stop_is_always_answered) {
  for (connection_state s : testing::reachable(connection_table)) {
    if (!s.any({stopping, stopped})) s = connection_table.step(s, e::stop_later);
    if (s.has(answering)) s = connection_table.step(s, e::answers_end);
    if (s.has(taking)) s = connection_table.step(s, e::take_ends);
    if (s.has(stopping)) s = connection_table.step(s, e::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

}  // namespace
}  // namespace hcasim
