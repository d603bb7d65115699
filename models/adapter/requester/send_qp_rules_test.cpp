#include "models/adapter/requester/send_qp_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum send_qp_life;
using enum send_qp_mark;

TEST(send_qp_rules, exactly_the_rows_of_the_table_happen) {
  EXPECT_EQ(testing::faults_of(send_qp_table), "");
}

TEST(send_qp_rules, impossible_states_are_not_reached) {
  for (const send_qp_state s : testing::reachable(send_qp_table)) {
    // No QP sends, or waits for a page, without PSNs.
    EXPECT_TRUE(s.has(numbered) || (s.life != sending && !s.any({paging, resumed})));
    // Marks of RC alone end before the settings are read anew.
    EXPECT_TRUE(s.life == sending || s.life == error || !s.any({repeating, resting, landing}));
    // A stop is answered when no coroutine is left, and once.
    EXPECT_FALSE(s.has(stopped) && s.any({resting, landing, paging, resumed, looping, stopping}));
    // A new life forgets the old one.
    if (send_qp_table.possible(s, send_qp_event::start)) {
      EXPECT_EQ(send_qp_table.step(s, send_qp_event::start), send_qp_state{});
    }
    // No response makes a QP in error, or asked to stop, send again.
    for (const send_qp_event e : {send_qp_event::go_back, send_qp_event::rnr_nak, send_qp_event::response_faults}) {
      EXPECT_TRUE(is_live(s) || !send_qp_table.possible(s, e));
    }
    EXPECT_EQ(send_qp_table.possible(s, send_qp_event::context_read), may_send(s));
    EXPECT_TRUE(is_live(s) || !may_send(s));
    // One loop sends at a time, and begins when the next packet may go.
    EXPECT_EQ(send_qp_table.possible(s, send_qp_event::loop_begins), may_send(s) && !s.has(looping));
    // Error and stop can always come; a life that was stopped can always be begun anew.
    EXPECT_TRUE(send_qp_table.possible(s, send_qp_event::told_failed));
    EXPECT_TRUE(s.has(stopping) || send_qp_table.possible(s, send_qp_event::stop_later));
    EXPECT_TRUE(!s.has(stopped) || send_qp_table.possible(s, send_qp_event::start));
  }
}

// A stop ends every wait of the QP and is answered, from every reachable state.
TEST(send_qp_rules, a_stop_is_always_answered) {
  for (send_qp_state s : testing::reachable(send_qp_table)) {
    if (!s.any({stopping, stopped})) s = send_qp_table.step(s, send_qp_event::stop_later);
    if (s.has(resting)) s = send_qp_table.step(s, send_qp_event::rnr_over);
    if (s.has(landing)) s = send_qp_table.step(s, send_qp_event::response_answered);
    if (s.has(paging)) s = send_qp_table.step(s, send_qp_event::last_gather_answered);
    if (s.has(resumed)) s = send_qp_table.step(s, send_qp_event::gather_ends);
    if (s.has(looping)) s = send_qp_table.step(s, send_qp_event::loop_ends);
    if (s.has(stopping)) s = send_qp_table.step(s, send_qp_event::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

TEST(send_qp_rules, an_impossible_event_says_what_and_where) {
  try {
    (void)send_qp_table.step({.life = error, .marks = {numbered, resting}}, send_qp_event::go_back);
    FAIL() << "nothing was thrown";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "send_qp: 'go_back' cannot happen in 'error', numbered, resting");
  }
}

}  // namespace
}  // namespace hcasim
