#include "testbenches/program/results/cost.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

std::string node_of(const std::string& unit) {
  return unit.substr(0, unit.find('.'));
}

// Returns 131072 as "16 KiB".
std::string bytes_text(std::uint64_t bits) {
  const double bytes = static_cast<double>(bits) / 8;
  if (bytes >= 1024 * 1024) return fmt::format("{:.4g} MiB", bytes / 1024 / 1024);
  return bytes >= 1024 ? fmt::format("{:.4g} KiB", bytes / 1024) : fmt::format("{:.4g} B", bytes);
}

// Returns the memories of each node, in their order; the unit's name without the node.
std::map<std::string, std::vector<on_chip_memory>> by_node(const memory_list& memories) {
  std::map<std::string, std::vector<on_chip_memory>> out;
  for (const on_chip_memory& m : memories.all()) {
    on_chip_memory& own = out[node_of(m.unit)].emplace_back(m);
    own.unit = m.unit.substr(std::min(m.unit.find('.') + 1, m.unit.size()));
  }
  return out;
}

bool alike(const std::vector<on_chip_memory>& a, const std::vector<on_chip_memory>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const on_chip_memory& x, const on_chip_memory& y) {
    return x.unit == y.unit && x.name == y.name && x.kind == y.kind && x.entries == y.entries && x.entry_bits == y.entry_bits;
  });
}

}  // namespace

nlohmann::ordered_json cost_json(const memory_list& memories) {
  using nlohmann::ordered_json;
  ordered_json units = ordered_json::object();
  std::uint64_t total = 0;
  for (const on_chip_memory& m : memories.all()) {
    ordered_json& unit = units[m.unit];
    if (unit.is_null()) unit = {{"bits", std::uint64_t{0}}};
    unit["bits"] = unit["bits"].get<std::uint64_t>() + m.bits();
    unit["memories"].push_back({{"name", m.name},
                                {"kind", name_of(m.kind)},
                                {"entries", m.entries},
                                {"entry_bits", m.entry_bits},
                                {"bits", m.bits()},
                                {"help", m.help}});
    total += m.bits();
  }
  return {{"total_bits", total}, {"units", std::move(units)}};
}

nlohmann::ordered_json unit_costs(const memory_list& memories) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const on_chip_memory& m : memories.all()) out[m.unit] = out.value(m.unit, std::uint64_t{0}) + m.bits();
  return out;
}

std::string cost_text(const memory_list& memories) {
  const auto nodes = by_node(memories);
  std::vector<std::vector<std::string>> rows{{"unit", "memory", "kind", "entries", "bits of each", "bits", "", "meaning"}};
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    const auto same = std::find_if(nodes.begin(), node, [&](const auto& n) { return alike(n.second, node->second); });
    if (same != node) continue;
    const auto equal = std::count_if(nodes.begin(), nodes.end(), [&](const auto& n) { return alike(n.second, node->second); });
    const std::string name = equal > 1 && equal == static_cast<std::ptrdiff_t>(nodes.size()) ? "node*" : node->first;
    std::uint64_t sum = 0;
    std::uint64_t cams = 0;
    for (const on_chip_memory& m : node->second) {
      rows.push_back({fmt::format("{}.{}", name, m.unit), m.name, std::string(name_of(m.kind)), std::to_string(m.entries),
                      std::to_string(m.entry_bits), std::to_string(m.bits()), bytes_text(m.bits()), std::string(m.help)});
      sum += m.bits();
      if (m.kind == memory_kind::cam) cams += m.bits();
    }
    rows.push_back({name, "all", "", "", "", std::to_string(sum), bytes_text(sum), fmt::format("{} bits of it CAM", cams)});
  }
  if (rows.size() == 1) return "on-chip memory: this machine declares none\n";
  return "on-chip memory\n" + aligned(rows, {false, false, false, true, true, true, true, false});
}

}  // namespace hcasim
