#include "models/adapter/responder/receive_qp_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum receive_qp_life;
using enum receive_qp_mark;
using e = receive_qp_event;

TEST(receive_qp_rules, exactly_the_rows_of_the_table_happen) {
  EXPECT_EQ(testing::faults_of(receive_qp_table), "");
}

TEST(receive_qp_rules, impossible_states_are_not_reached) {
  for (const receive_qp_state s : testing::reachable(receive_qp_table)) {
    // Software is told once in a life, and only of an error.
    EXPECT_FALSE(s.has(told_last) && (s.life == receiving || receive_qp_table.possible(s, e::last_wqe)));
    // A lost context is an error, told once.
    EXPECT_FALSE(s.has(lost) && (!in_error(s) || receive_qp_table.possible(s, e::context_lost)));
    // READs of a QP are answered one after the other.
    EXPECT_FALSE(s.has(answering) && receive_qp_table.possible(s, e::answers_begin));
    EXPECT_FALSE(s.has(stopped) && s.any({answering, stopping}));
    // A new life forgets the old one; there is no other way out of an error.
    if (receive_qp_table.possible(s, e::start)) {
      EXPECT_EQ(receive_qp_table.step(s, e::start), receive_qp_state{});
    }
    for (std::size_t n = 0; n < receive_qp_table.names().events.size(); ++n) {
      const auto event = static_cast<e>(n);
      if (event == e::start || !receive_qp_table.possible(s, event)) continue;
      EXPECT_TRUE(!in_error(s) || in_error(receive_qp_table.step(s, event)));
    }
    EXPECT_TRUE(s.has(stopping) || receive_qp_table.possible(s, e::stop_later));
    EXPECT_TRUE(!s.has(stopped) || receive_qp_table.possible(s, e::start));
  }
}

TEST(receive_qp_rules, a_stop_is_always_answered) {
  for (receive_qp_state s : testing::reachable(receive_qp_table)) {
    if (!s.any({stopping, stopped})) s = receive_qp_table.step(s, e::stop_later);
    if (s.has(answering)) s = receive_qp_table.step(s, e::answers_end);
    if (s.has(stopping)) s = receive_qp_table.step(s, e::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

}  // namespace
}  // namespace hcasim
