#include "testbenches/program/explanation/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

constexpr double bar_length = 40;
constexpr std::size_t resources_shown = 12;

std::string bar(double begin, double length) {
  const auto cells = [](double share) { return static_cast<std::size_t>(std::lround(share * bar_length)); };
  const std::size_t from = std::min(cells(begin), static_cast<std::size_t>(bar_length) - 1);
  const std::size_t to = std::max(cells(begin + length), from + 1);
  return std::string(from, ' ') + std::string(to - from, '#');
}

std::string waterfall_text(const waterfall& w) {
  double total = 0;
  for (const waterfall_step& s : w.steps) total += s.nanoseconds;
  std::vector<std::vector<std::string>> rows{{"unit", "kind", "ns", "%", ""}};
  double before = 0;
  for (const waterfall_step& s : w.steps) {
    const double share = total > 0 ? s.nanoseconds / total : 0;
    rows.push_back(
        {s.unit, s.kind, fmt::format("{:.3f}", s.nanoseconds), fmt::format("{:.1f}", share * 100), bar(before, share)});
    before += share;
  }
  rows.push_back({"total", "", fmt::format("{:.3f}", total), "100.0", ""});
  return fmt::format("{}: where the time went\n{}", w.title, aligned(rows, {false, false, true, true, false}));
}

}  // namespace

std::string busiest_resource(const std::vector<resource_use>& resources) {
  if (resources.empty() || resources.front().utilisation < 0.005) return "nothing was busy";
  const resource_use& first = resources.front();
  return fmt::format("{} {}, {:.0f} % busy", first.unit, first.name, first.utilisation * 100);
}

std::string verdict_text(const std::vector<resource_use>& resources, const what_if_gain* gained) {
  if (gained) return what_if_verdicts(*gained);
  return fmt::format("busiest     {}; --what-if finds the bottleneck\n", busiest_resource(resources));
}

nlohmann::ordered_json explain_json(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources,
                                    const what_if_gain* gained) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const waterfall& w : waterfalls) {
    double total = 0;
    ordered_json steps = ordered_json::array();
    for (const waterfall_step& s : w.steps) {
      total += s.nanoseconds;
      steps.push_back({{"unit", s.unit}, {"kind", s.kind}, {"ns", s.nanoseconds}});
    }
    list.push_back({{"title", w.title}, {"steps", steps}, {"total_ns", total}});
  }
  const auto verdict = [&](relief_kind kind) {
    const bool known = gained && gained->why_not.empty() && was_tried(*gained, kind);
    return known ? ordered_json(binding_text(*gained, kind)) : ordered_json();
  };
  return {{"waterfalls", list},
          {"busiest", busiest_resource(resources)},
          {"binding", verdict(relief_kind::resource)},
          {"binding_latency", verdict(relief_kind::latency)}};
}

std::string explain(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources) {
  std::string out;
  for (const waterfall& w : waterfalls) out += waterfall_text(w) + "\n";
  std::vector<std::vector<std::string>> rows{{"resource", "", "busy %", "", "meaning"}};
  for (std::size_t i = 0; i < std::min(resources.size(), resources_shown); ++i) {
    const resource_use& u = resources[i];
    if (u.utilisation < 0.0005) break;
    rows.push_back({u.unit, u.name, fmt::format("{:.1f}", u.utilisation * 100), bar(0, u.utilisation), u.help});
  }
  return fmt::format("{}how busy the resources were\n{}\n", out, aligned(rows, {false, false, true, false, false}));
}

}  // namespace hcasim
