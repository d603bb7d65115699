#include "models/adapter/context_cache/line_rules.h"

#include <gtest/gtest.h>

#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

using enum line_life;
using enum line_mark;
using e = line_event;

TEST(line_rules, exactly_the_rows_of_the_table_happen) {
  EXPECT_EQ(testing::faults_of(line_table), "");
}

TEST(line_rules, bytes_that_are_held_or_newer_are_not_lost) {
  for (const line_status s : testing::reachable(line_table)) {
    EXPECT_FALSE(s.has(held) && (s.life == empty || under_way(s.life)));
    EXPECT_FALSE(s.has(held) && line_table.possible(s, e::fetch_begins));
    EXPECT_FALSE(s.has(held) && line_table.possible(s, e::forgotten));
    EXPECT_FALSE(s.life == dirty && line_table.possible(s, e::forgotten));
    // A dirty line stays dirty until it is written, as a victim or dropped, or its area is gone.
    for (std::size_t n = 0; n < line_table.names().events.size(); ++n) {
      const auto event = static_cast<e>(n);
      if ((s.life != dirty && s.life != dropping_dirty) || !line_table.possible(s, event)) continue;
      const line_life next = line_table.step(s, event).life;
      EXPECT_TRUE(next == dirty || next == dropping_dirty || event == e::fetch_begins || event == e::forgotten ||
                  event == e::area_changes || event == e::spoils || event == e::loses_its_tag);
    }
    // No request gets a line that is leaving or not there yet, and one drop is enough.
    EXPECT_FALSE(may_be_lent(s.life) && !line_table.possible(s, e::lent));
    EXPECT_FALSE((leaving(s.life) || s.life == unwanted) && line_table.possible(s, e::drop_asked));
  }
}

TEST(line_rules, a_drop_ends_with_an_empty_line) {
  for (line_status s : testing::reachable(line_table)) {
    if (line_table.possible(s, e::drop_asked)) s = line_table.step(s, e::drop_asked);
    if (s.life == unwanted) s = line_table.step(s, e::fetched);
    if (s.has(held)) s = line_table.step(s, e::given_back);
    if (s.life != empty) s = line_table.step(s, e::forgotten);
    EXPECT_EQ(s, line_status{});
  }
}

}  // namespace
}  // namespace hcasim
