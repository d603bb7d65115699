#include "testbenches/program/explanation/what_if_change.h"

#include <algorithm>
#include <array>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/recording/resources.h"

namespace hcasim {
namespace {

// Knobs of the run, of its simulation, limits that software asks for, and faults on purpose.
constexpr std::array not_resources{"*seed",
                                   "count",
                                   "nodes",
                                   "first_vector",
                                   "functions",
                                   "run_ahead",
                                   "stack",
                                   "*_run_ahead",
                                   "*timeout",
                                   "log_*",
                                   "max_inline",
                                   "max_sge",
                                   "max_spaces",
                                   "max_segments",
                                   "max_segment",
                                   "max_delay",
                                   "event_queues",
                                   "page_retries",
                                   "completion_vectors",
                                   "table_bytes",
                                   "extent_lines",
                                   "memory",
                                   "memory_top",
                                   "page",
                                   "size",
                                   "stall_limit",
                                   "fault_pages",
                                   "device_memory",
                                   "virtual_lanes",
                                   "blueflame_max",
                                   "rcb",
                                   "retraining",
                                   "replay_timer",
                                   "health_period",
                                   "recoveries",
                                   "bar",
                                   "trace_from",
                                   "stall_events",
                                   "vendor_*",
                                   "llc_ways"};
constexpr std::array latencies{"*latency", "propagation", "depth", "copy_setup", "page_retry_delay", "wake_up_cost"};
constexpr std::array<std::string_view, 2> workloads{"parameters", "traffic"};
constexpr std::string_view observation = "statistics.";
constexpr std::string_view as_rtl = "rtl.";  // within a unit: how it is run as RTL, no unit of its own

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}
std::string unit_of_knob(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(path.substr(0, dot == std::string_view::npos ? 0 : dot));
}

bool of_workload(std::string_view path) {
  return std::any_of(workloads.begin(), workloads.end(), [&](std::string_view w) { return path.starts_with(w); });
}

template <std::size_t N>
bool named(const std::array<const char*, N>& patterns, std::string_view path) {
  const std::string_view name = last_part(path);
  return std::any_of(patterns.begin(), patterns.end(), [&](const char* n) { return glob_match(n, name); });
}

bool can_be_short(const knob_tree::leaf& l) {
  return !l.path.starts_with(observation) && !named(not_resources, l.path);
}

relief_kind kind_of(const knob_tree::leaf& l) {
  const bool timed = l.kind == knob_kind::time || l.kind == knob_kind::cycles;
  return timed && named(latencies, l.path) ? relief_kind::latency : relief_kind::resource;
}

bool less_is_better(const knob_tree::leaf& l) {
  return l.kind == knob_kind::time || l.kind == knob_kind::cycles || l.path.ends_with("_header");
}

void put_relief(std::vector<what_if_change>& list, std::string name, const knob_tree::leaf& l, const std::string& to) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const what_if_change& r) { return r.name == name; });
  if (found == list.end()) {
    std::string unit = unit_of_knob(name);
    list.push_back({std::move(name), std::move(unit), kind_of(l), false, less_is_better(l), l.text(), to, {{l.path, to}}});
    return;
  }
  if (found->from != l.text()) found->from = found->to = "";
  found->settings.push_back({l.path, to});
}

// Returns whether it is a unit without units inside. The adapter's own knob, its clock, concerns all of its units.
bool is_unit(const knob_tree& tree, const std::string& unit) {
  const std::string inside = unit + ".";
  const auto& leaves = tree.leaves();
  return !unit.empty() && std::none_of(leaves.begin(), leaves.end(), [&](const knob_tree::leaf& l) {
    const std::string path = for_all_nodes(l.path);
    return path.starts_with(inside) && path.find('.', inside.size()) != std::string::npos &&
           path.compare(inside.size(), as_rtl.size(), as_rtl) != 0;
  });
}

// The knobs of the pattern, whether they can be relieved or not.
std::vector<const knob_tree::leaf*> leaves_named(const knob_tree& tree, const std::string& pattern) {
  std::vector<const knob_tree::leaf*> found;
  const bool asked_for_workload = of_workload(pattern);
  for (const auto& l : tree.leaves()) {
    if (of_workload(l.path) != asked_for_workload) continue;
    const std::string general = for_all_nodes(l.path);
    const std::string part = "*" + pattern + "*";
    if (glob_match(pattern, l.path) || glob_match(pattern, general) || glob_match(part, l.path) || glob_match(part, general))
      found.push_back(&l);
  }
  return found;
}

// "UNIT STATISTIC" or "UNIT.STATISTIC" of a resource as a pattern of knobs; empty when it is none.
std::string knobs_of_resource(const std::string& name) {
  const std::size_t cut = name.find_last_of(". ");
  if (cut == std::string::npos || cut == 0) return "";
  const std::string unit = name.substr(0, cut);
  const std::string statistic = name.substr(cut + 1);
  if (const std::string_view knob = capacity_knob(statistic); !knob.empty()) return fmt::format("{}.{}", unit, knob);
  const bool told = statistic.ends_with("busy") || statistic.ends_with("utilisation");
  if (!told) return "";
  // Links and switches are numbered, their knobs are not.
  const std::size_t digits = unit.find_last_not_of("0123456789") + 1;
  return (unit.find('.') == std::string::npos ? unit.substr(0, digits) : unit) + ".*";
}

// Suggests within the unit of the pattern, if the pattern names one; otherwise among names with as many last parts.
std::string nearest_relief(const knob_tree& tree, const std::string& pattern) {
  const std::size_t cut = pattern.find_last_of(". ");
  const std::string unit = cut == std::string::npos ? "" : for_all_nodes(pattern.substr(0, cut));
  const auto given = 1 + std::count(pattern.begin(), pattern.end(), '.');
  std::vector<std::string> names;
  std::vector<std::string> its;
  for (const what_if_change& r : all_changes(tree)) {
    if (!r.whole && r.unit == unit) its.emplace_back(last_part(r.name));
    std::size_t begin = r.name.size();
    for (auto n = given; n > 0 && begin != std::string::npos && begin > 0; --n) begin = r.name.rfind('.', begin - 1);
    names.push_back(begin == std::string::npos || begin == 0 ? r.name : r.name.substr(begin + 1));
  }
  if (!its.empty()) return suggestion(pattern.substr(cut + 1), its, fmt::format("the knobs of {}", unit));
  return suggestion(pattern, names, "units and knobs");
}

[[noreturn]] void refuse_pattern(const std::string& pattern, const std::string& why) {
  throw input_error(fmt::format("--what-if '{}': {}", pattern, why));
}

std::string why_not(const knob_tree::leaf& l) {
  const std::string path = for_all_nodes(l.path);
  const bool number =
      l.kind != knob_kind::flag && l.kind != knob_kind::choice && l.kind != knob_kind::text && l.kind != knob_kind::path;
  if (!number) return fmt::format("{} is {}, which cannot be doubled or halved", path, kind_name(l.kind));
  if (!can_be_short(l)) return fmt::format("{} is not a resource that can limit a run", path);
  return fmt::format("{} = {} cannot be relieved further; allowed is {}", path, l.text(), l.range());
}

}  // namespace

std::optional<std::string> relieved(const knob_tree::leaf& l) {
  const bool number = l.kind == knob_kind::count || l.kind == knob_kind::bytes || l.kind == knob_kind::rate ||
                      l.kind == knob_kind::clock || l.kind == knob_kind::time || l.kind == knob_kind::cycles;
  if (!number || !can_be_short(l) || l.text() == "never") return std::nullopt;
  const long double now = parse_quantity(l.kind, l.text());
  long double then = less_is_better(l) ? now / 2 : now * 2;
  if (last_part(l.path) == "generation") then = now + 1;
  if (l.kind != knob_kind::cycles) then = static_cast<long double>(static_cast<std::uint64_t>(then));
  then = std::clamp(then, static_cast<long double>(l.min), static_cast<long double>(l.max));
  if (now == 0 || then == now) return std::nullopt;
  return format_quantity(l.kind, then);
}

std::vector<what_if_change> all_changes(const knob_tree& tree) {
  std::vector<what_if_change> knobs;
  for (const auto& l : tree.leaves()) {
    if (of_workload(l.path)) continue;
    if (const auto to = relieved(l)) put_relief(knobs, for_all_nodes(l.path), l, *to);
  }
  std::vector<std::string> units;
  for (const what_if_change& k : knobs) {
    if (std::find(units.begin(), units.end(), k.unit) == units.end() && is_unit(tree, k.unit)) units.push_back(k.unit);
  }
  std::vector<what_if_change> out;
  for (const std::string& u : units) {
    for (const relief_kind kind : {relief_kind::resource, relief_kind::latency}) {
      what_if_change whole{u, u, kind, true, false, "", "", {}};
      const std::size_t at = out.size();
      for (const what_if_change& k : knobs) {
        if (k.unit != u || k.kind != kind) continue;
        out.push_back(k);
        whole.settings.insert(whole.settings.end(), k.settings.begin(), k.settings.end());
      }
      if (!whole.settings.empty()) out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), std::move(whole));
    }
  }
  return out;
}

std::vector<what_if_change> changes_for(const knob_tree& tree, const std::string& pattern) {
  auto leaves = leaves_named(tree, pattern);
  if (const std::string of_resource = knobs_of_resource(pattern); leaves.empty() && !of_resource.empty()) {
    leaves = leaves_named(tree, of_resource);
    if (leaves.empty()) refuse_pattern(pattern, fmt::format("this resource has no knob; {}", nearest_relief(tree, pattern)));
  }
  if (leaves.empty())
    refuse_pattern(pattern, fmt::format("no such knob, and no resource that has one; {}", nearest_relief(tree, pattern)));
  std::vector<what_if_change> out;
  for (const auto* l : leaves) {
    const auto to = relieved(*l);
    if (!to) continue;
    const std::string general = for_all_nodes(l->path);
    const auto same = [&](const auto& leaf) { return for_all_nodes(leaf.path) == general; };
    const auto in_tree = std::count_if(tree.leaves().begin(), tree.leaves().end(), same);
    const auto asked = std::count_if(leaves.begin(), leaves.end(), [&](const auto* leaf) { return same(*leaf); });
    put_relief(out, asked == in_tree ? general : l->path, *l, *to);
  }
  if (out.empty()) refuse_pattern(pattern, why_not(*leaves.front()));
  return out;
}

}  // namespace hcasim
