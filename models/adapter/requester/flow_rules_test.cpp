#include "models/adapter/requester/flow_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum flow_life;
using enum flow_mark;

TEST(flow_rules, every_row_happens_and_nothing_else_does) {
  EXPECT_EQ(testing::faults_of(flow_table), "");
}

TEST(flow_rules, what_cannot_be_is_not_reached) {
  for (const flow_state s : testing::reachable(flow_table)) {
    // No flow sends, or waits for a page, without PSNs.
    EXPECT_TRUE(s.has(numbered) || (s.life != sending && !s.any({paging, resumed})));
    // Marks that only RC knows end before the settings are read anew.
    EXPECT_TRUE(s.life == sending || s.life == error || !s.any({repeating, resting, landing}));
    // A stop is answered when no coroutine is left, and once.
    EXPECT_FALSE(s.has(stopped) && s.any({resting, landing, paging, resumed, stopping}));
    // A new life forgets the old one.
    if (flow_table.possible(s, flow_event::start)) {
      EXPECT_EQ(flow_table.step(s, flow_event::start), flow_state{});
    }
    // Only what sends can get an answer that has it repeat something.
    for (const flow_event e : {flow_event::go_back, flow_event::rnr_nak, flow_event::response_faults}) {
      EXPECT_TRUE(is_live(s) || !flow_table.possible(s, e));
    }
    EXPECT_EQ(flow_table.possible(s, flow_event::context_read), may_send(s));
    EXPECT_TRUE(is_live(s) || !may_send(s));
    // Error and stop can always come; a life that was stopped can always be begun anew.
    EXPECT_TRUE(flow_table.possible(s, flow_event::told_failed));
    EXPECT_TRUE(s.has(stopping) || flow_table.possible(s, flow_event::stop_later));
    EXPECT_TRUE(!s.has(stopped) || flow_table.possible(s, flow_event::start));
  }
}

// From wherever it is, what it waits for ends and a stop is answered: nothing holds it for ever.
TEST(flow_rules, a_stop_is_always_answered) {
  for (flow_state s : testing::reachable(flow_table)) {
    if (!s.any({stopping, stopped})) s = flow_table.step(s, flow_event::stop_later);
    if (s.has(resting)) s = flow_table.step(s, flow_event::rnr_over);
    if (s.has(landing)) s = flow_table.step(s, flow_event::response_answered);
    if (s.has(paging)) s = flow_table.step(s, flow_event::last_gather_answered);
    if (s.has(resumed)) s = flow_table.step(s, flow_event::gather_ends);
    if (s.has(stopping)) s = flow_table.step(s, flow_event::left);
    EXPECT_TRUE(s.has(stopped));
  }
}

TEST(flow_rules, an_impossible_event_says_what_and_where) {
  try {
    (void)flow_table.step({.life = error, .marks = {numbered, resting}}, flow_event::go_back);
    FAIL() << "nothing was thrown";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "flow: 'go_back' cannot happen in 'error', numbered, resting");
  }
}

}  // namespace
}  // namespace hcasim
