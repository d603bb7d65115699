// Every knob of the program has a role, and the table names no knob that there is not.
#include "testbenches/checks/system_laws/knob_roles.h"

#include <gtest/gtest.h>

#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/execution/prepare.h"

namespace hcasim::metamorphic {
namespace {

TEST(knob_roles, every_knob_has_a_role) {
  const auto machine = make_system_platform();
  const knob_tree tree = make_tree(*machine, nullptr);
  std::size_t resources = 0;
  for (const knob_tree::leaf& l : tree.leaves()) {
    if (general_path(l.path).empty()) continue;
    const auto what = role_of(l);
    EXPECT_TRUE(what.has_value()) << l.path << " is new: say in knob_roles.cpp whether more of it is better, less, or neither";
    resources += what && *what != role::none ? 1 : 0;
  }
  EXPECT_GT(resources, 150U);
}

TEST(knob_roles, every_bound_that_is_told_is_allowed) {
  const auto machine = make_system_platform();
  const knob_tree tree = make_tree(*machine, nullptr);
  std::size_t bounds = 0;
  for (const knob_tree::leaf& l : tree.leaves()) {
    const std::string range = l.range();
    const std::size_t cut = range.find(" to ");
    if (cut == std::string::npos) continue;
    for (const std::string& bound : {range.substr(0, cut), range.substr(cut + 4)}) {
      EXPECT_NO_THROW(l.assign(bound)) << l.path << " " << bound;
      EXPECT_EQ(l.text(), bound) << l.path;
      ++bounds;
    }
  }
  EXPECT_GT(bounds, 500U);
}

TEST(knob_roles, every_entry_of_the_table_is_a_knob) {
  const auto machine = make_system_platform();
  const knob_tree tree = make_tree(*machine, nullptr);
  for (const listed_knob& k : listed_knobs()) {
    const auto& all = tree.leaves();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const knob_tree::leaf& l) { return listed(l) == &k; }))
        << k.name << " is no knob, or an entry before it takes all of its knobs";
    EXPECT_EQ(k.what == role::none, *k.why != 0) << k.name << ": what is no resource says why";
  }
}

}  // namespace
}  // namespace hcasim::metamorphic
