// Knobs that cannot matter because another knob switches their group off. A group is off when its flag `enabled` is false, or
// its `kind` or `implementation` is `none`, or its number of `units` is 0. A group `rtl` is off when the `implementation`
// beside the group is `model`. Knobs `llc_...` are off when `llc_size` is 0, `map_...` when `map_sets` is, and so on. A new
// knob of such a group needs nothing more. Single knobs that another one switches off stand in a table (`dependent_knobs`).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testbenches/program/description/describe.h"

namespace hcasim {

// Rules beyond the names: a group below `path` is idle, and `text` says what would make use of it.
struct idle_group {
  std::string path;                   // "switch"
  std::vector<std::string> switches;  // knobs that decide
  std::string mend;
};

struct idle_setting {
  std::string pattern;  // as it was set
  place where;
  std::vector<std::string> switches;
  std::string text;  // fault and mend
};

// Matches a knob's path segment by segment.
bool matches_path(std::string_view pattern, std::string_view path);
// Returns the settings that matter at no node. Presets and resolved descriptions do not count.
std::vector<idle_setting> idle_settings(const description& d, const knob_tree& tree, const std::vector<idle_group>& more);

}  // namespace hcasim
