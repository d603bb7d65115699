#include "testbenches/program/results/filling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace hcasim {
namespace {

constexpr double most_share = 0.01;
constexpr double fewest = 100;  // lookups, below which a share says nothing

double share(const filling_cache& c) {
  return c.filled / c.lookups;
}

}  // namespace

std::vector<filling_cache> still_filling(const measurement& m, const measurement::part& p) {
  constexpr std::array<std::string_view, 4> names{"hits", "misses", "merged", "evictions"};
  std::map<const unit*, std::map<std::string_view, double>> caches;
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const statistic& s = m.entries()[i].reader.of();
    const auto name = std::find(names.begin(), names.end(), s.name);
    if (name != names.end() && std::holds_alternative<const counter*>(s.value))
      caches[m.entries()[i].of][*name] = p.values[i].over;
  }
  std::vector<filling_cache> out;
  for (auto& [of, counts] : caches) {
    if (!counts.contains("hits") || !counts.contains("misses") || !counts.contains("evictions")) continue;
    std::string name = of->name();
    constexpr std::string_view top = "system.";
    if (name.starts_with(top)) name.erase(0, top.size());
    const filling_cache c{std::move(name), counts["hits"] + counts["misses"] + counts["merged"],
                          counts["misses"] - counts["evictions"]};
    if (c.lookups >= fewest && share(c) > most_share) out.push_back(c);
  }
  std::sort(out.begin(), out.end(), [](const filling_cache& a, const filling_cache& b) {
    return share(a) != share(b) ? share(a) > share(b) : a.unit < b.unit;
  });
  return out;
}

nlohmann::ordered_json filling_json(const std::vector<filling_cache>& caches) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const filling_cache& c : caches)
    out.push_back(
        {{"unit", c.unit}, {"lookups", c.lookups}, {"filled", c.filled}, {"share", std::round(share(c) * 1e6) / 1e6}});
  return out;
}

std::string filling_text(const std::vector<filling_cache>& caches) {
  std::string out;
  for (const filling_cache& c : caches) {
    out += fmt::format("filling     {}: {:.1f} % of its lookups filled an empty place, so its ratios are of a cold cache\n",
                       c.unit, share(c) * 100);
  }
  return out;
}

}  // namespace hcasim
