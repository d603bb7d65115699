#include "testbenches/program/recording/resources.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {
namespace {

struct shared_capacity {
  std::string_view statistic;
  std::string_view knob;
};
constexpr shared_capacity capacities[] = {{"walkers_busy", "walkers"},
                                          {"units_busy", "units"},
                                          {"tags_in_use", "read_tags"},
                                          {"write_bytes", "write_buffer"},
                                          {"requests_outstanding", "requests"},
                                          {"pages_outstanding", "page_requests"},
                                          {"outstanding", "fetches"}};

double knob_value(const knob::target& t) {
  if (const auto* u = std::get_if<std::uint32_t*>(&t)) return **u;
  if (const auto* u = std::get_if<std::uint64_t*>(&t)) return static_cast<double>(**u);
  return 0;
}

std::optional<double> busy_share(const knob_tree& tree, const std::string& unit, const statistic& s, const tally& t, ps time) {
  if (std::holds_alternative<formula>(s.value)) {
    if (s.unit == "1" && (s.name.ends_with("utilisation") || s.name.ends_with("_busy"))) return t.value(s);
    if (s.unit == "ps" && s.name.ends_with("busy")) return t.value(s) / static_cast<double>(time.count());
  } else if (std::holds_alternative<level*>(s.value)) {
    const std::string_view knob = capacity_knob(s.name);
    const knob_tree::leaf* leaf = knob.empty() ? nullptr : tree.find(fmt::format("{}.{}", unit, knob));
    if (leaf && knob_value(leaf->value) > 0) return t.value(s) / knob_value(leaf->value);
  }
  return std::nullopt;
}

}  // namespace

std::string_view capacity_knob(std::string_view statistic) {
  for (const shared_capacity& c : capacities) {
    if (c.statistic == statistic) return c.knob;
  }
  return {};
}

std::string short_name(std::string_view unit) {
  constexpr std::string_view top = "system.";
  return std::string(unit.starts_with(top) ? unit.substr(top.size()) : unit);
}

std::vector<resource_use> resources_of(const knob_tree& tree, const measurement& m, const measurement::part& p,
                                       const std::vector<resource_use>& told) {
  std::vector<resource_use> list = told;
  for (std::size_t i = 0; i < m.entries().size() && p.time > ps(0); ++i) {
    const std::string unit = short_name(m.entries()[i].of->name());
    const statistic& s = m.entries()[i].reader.of();
    if (const auto share = busy_share(tree, unit, s, p.values[i], p.time)) list.push_back({unit, s.name, *share, s.help});
  }
  // A server counts what it is booked for when it is booked: what lies behind the end is no part of it.
  for (resource_use& r : list) r.utilisation = std::min(r.utilisation, 1.0);
  std::stable_sort(list.begin(), list.end(),
                   [](const resource_use& a, const resource_use& b) { return a.utilisation > b.utilisation; });
  return list;
}

nlohmann::ordered_json resources_json(const std::vector<resource_use>& list) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const resource_use& r : list) {
    if (r.utilisation <= 0) continue;
    out.push_back(
        {{"unit", r.unit}, {"resource", r.name}, {"utilisation", std::round(r.utilisation * 1e6) / 1e6}, {"help", r.help}});
  }
  return out;
}

}  // namespace hcasim
