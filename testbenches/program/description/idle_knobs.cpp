#include "testbenches/program/description/idle_knobs.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"

namespace hcasim {
namespace {

struct idle_reason {
  std::string knob;
  std::string mend;
};

// A knob and the one beside it, `by`, which switches the knob off: by any other value than `value` (`needs`), or by `value`.
struct dependent_knob {
  std::string_view knob;
  std::string_view by;
  std::string_view value;
  bool needs;
};
constexpr std::array<dependent_knob, 7> dependent_knobs{{{"link.max_delay", "link.delay", "0", false},
                                                         {"pcie.switch_latency", "pcie.has_switch", "true", true},
                                                         {"command_unit.key_seed", "command_unit.key_byte", "random", true},
                                                         {"doorbell.blueflame_lines", "doorbell.blueflame_max", "0 B", false},
                                                         {"doorbell.blueflame_buffer", "doorbell.blueflame_max", "0 B", false},
                                                         {"doorbell.blueflame_stall", "doorbell.blueflame_max", "0 B", false},
                                                         {"seed", "policy", "random", true}}};

bool has_text(const knob_tree& tree, const std::string& path, std::string_view text) {
  const knob_tree::leaf* const l = tree.find(path);
  return l && l->text() == text;
}

// Returns the knob of the same prefix that leaves a part of the unit out; empty = no knob does.
std::string part_left_out(const knob_tree& tree, const std::string& path) {
  const std::size_t name = path.rfind('.') + 1;
  const std::size_t end = path.find('_', name);
  if (end == std::string::npos) return {};
  for (const char* const count : {"size", "sets"}) {
    std::string knob = path.substr(0, end + 1) + count;
    if (path != knob && (has_text(tree, knob, "0") || has_text(tree, knob, "0 B"))) return knob;
  }
  return {};
}

// Looks for a knob beside `path` by which the latter is off.
std::optional<idle_reason> switched_off_beside(const knob_tree& tree, const std::string& path) {
  for (const dependent_knob& d : dependent_knobs) {
    if (!path.ends_with(d.knob)) continue;
    const std::size_t begin = path.size() - d.knob.size();
    if (begin != 0 && path[begin - 1] != '.') continue;
    const std::string by = path.substr(0, begin).append(d.by);
    const knob_tree::leaf* const l = tree.find(by);
    if (!l || (l->text() == d.value) == d.needs) continue;
    return idle_reason{by, d.needs ? fmt::format("{}: {}", by, d.value) : "another " + by};
  }
  return std::nullopt;
}

// Returns the knob that switches `path` off; nothing = `path` matters.
std::optional<idle_reason> switched_off(const knob_tree& tree, const std::string& path) {
  if (std::string knob = part_left_out(tree, path); !knob.empty()) return idle_reason{knob, "another " + knob};
  if (auto beside = switched_off_beside(tree, path)) return beside;
  std::string group = path;
  for (std::size_t dot = group.rfind('.'); dot != std::string::npos; dot = group.rfind('.')) {
    const bool of_rtl = group.substr(0, dot).ends_with(".rtl");
    group.erase(dot);
    const std::string enabled = group + ".enabled";
    if (path != enabled && has_text(tree, enabled, "false")) return idle_reason{enabled, enabled + ": true"};
    for (const char* const name : {".kind", ".implementation"}) {
      const std::string chooser = group + name;
      if (path != chooser && has_text(tree, chooser, "none")) return idle_reason{chooser, "a value of " + chooser};
    }
    const std::string units = group + ".units";
    if (path != units && has_text(tree, units, "0")) return idle_reason{units, units + ": 1 or more"};
    const std::string implementation = (of_rtl ? group.substr(0, group.size() - 4) : group) + ".implementation";
    if (of_rtl && has_text(tree, implementation, "model")) return idle_reason{implementation, implementation + ": rtl"};
  }
  return std::nullopt;
}

std::optional<idle_setting> judge(const std::string& pattern, const place& where, const knob_tree& tree,
                                  const std::vector<idle_group>& more) {
  idle_setting out{pattern, where, {}, {}};
  for (const knob_tree::leaf& l : tree.leaves()) {
    if (!matches_path(pattern, l.path)) continue;
    const auto group =
        std::find_if(more.begin(), more.end(), [&](const idle_group& g) { return l.path.starts_with(g.path + "."); });
    if (group != more.end()) {
      out.switches.insert(out.switches.end(), group->switches.begin(), group->switches.end());
      out.text = fmt::format("has no effect {}, or leave it out", group->mend);
    } else if (const auto reason = switched_off(tree, l.path)) {
      out.switches.push_back(reason->knob);
      if (out.text.empty())
        out.text = fmt::format("has no effect while {} is {}; write {}, or leave it out", reason->knob,
                               tree.find(reason->knob)->text(), reason->mend);
    } else {
      return std::nullopt;
    }
  }
  if (out.text.empty()) return std::nullopt;
  return out;
}

}  // namespace

bool matches_path(std::string_view pattern, std::string_view path) {
  const auto patterns = split(pattern, '.');
  const auto names = split(path, '.');
  return std::equal(patterns.begin(), patterns.end(), names.begin(), names.end(),
                    [](const std::string& p, const std::string& n) { return glob_match(p, n); });
}

std::vector<idle_setting> idle_settings(const description& d, const knob_tree& tree, const std::vector<idle_group>& more) {
  std::vector<idle_setting> out;
  d.each_setting([&](const std::string& pattern, const place& where) {
    if (auto idle = judge(pattern, where, tree, more)) out.push_back(std::move(*idle));
  });
  return out;
}

}  // namespace hcasim
