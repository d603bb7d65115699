#include "testbenches/program/command_line/compare.h"

#include <cmath>
#include <iostream>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/command_line/run.h"
#include "testbenches/program/execution/output_folder.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct difference {
  std::string name;
  ordered_json a;  // null = not there
  ordered_json b;
};

// Leaves of two trees that are not equal, by path.
void compare(const ordered_json& a, const ordered_json& b, const std::string& path, std::vector<difference>& out) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) {
    out.push_back({path, a, b});
    return;
  }
  const auto below = [&](const std::string& key) { return path.empty() ? key : fmt::format("{}.{}", path, key); };
  for (const auto& [key, value] : a.items()) {
    compare(value, b.contains(key) ? b[key] : ordered_json(), below(key), out);
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) compare(ordered_json(), value, below(key), out);
  }
}

// Statistics and figures without units and explanations.
ordered_json numbers(const ordered_json& j) {
  if (!j.is_object()) return j;
  if (j.contains("value") && j.contains("unit")) return j["value"];
  ordered_json out = ordered_json::object();
  for (const auto& [key, value] : j.items()) {
    if (key != "unit" && key != "help" && key != "signal") out[key] = numbers(value);
  }
  return out;
}

double relative(const difference& d) {
  if (!d.a.is_number() || !d.b.is_number()) return INFINITY;
  const double a = d.a;
  const double b = d.b;
  return std::fabs(b - a) / std::max(std::fabs(a), std::fabs(b));
}

std::size_t leaves(const ordered_json& v) {
  if (!v.is_object()) return 1;
  return std::accumulate(v.begin(), v.end(), std::size_t{0},
                         [](std::size_t n, const ordered_json& x) { return n + leaves(x); });
}

// A branch that only one run has is told by its size, and a long text by its begin.
std::string text(const ordered_json& v) {
  constexpr std::size_t widest = 60;
  if (v.is_null()) return "-";
  if (v.is_number()) return number_text(v);
  if (v.is_object()) return fmt::format("{} values", leaves(v));
  const std::string all = v.is_string() ? v.get<std::string>() : v.dump();
  return all.size() <= widest ? all : all.substr(0, widest - 3) + "...";
}

std::string change(const difference& d) {
  if (!d.a.is_number() || !d.b.is_number() || d.a.get<double>() == 0) return "";
  return fmt::format("{:+.2f} %", (d.b.get<double>() / d.a.get<double>() - 1) * 100);
}

void print(const char* title, const std::vector<difference>& list) {
  if (list.empty()) return;
  std::vector<std::vector<std::string>> rows;
  rows.reserve(list.size());
  for (const difference& d : list) rows.push_back({d.name, text(d.a), text(d.b), change(d)});
  std::cout << fmt::format("{}\n{}\n", title, aligned(rows, {false, true, true, true}));
}

ordered_json as_json(const std::vector<difference>& list) {
  ordered_json out = ordered_json::array();
  for (const difference& d : list) out.push_back({{"name", d.name}, {"a", d.a}, {"b", d.b}});
  return out;
}

}  // namespace

int compare_runs(const compare_options& o) {
  const ordered_json a = read_result(o.a);
  const ordered_json b = read_result(o.b);
  std::vector<difference> run;
  std::vector<difference> description;
  std::vector<difference> figures;
  std::vector<difference> statistics;
  for (const char* key : {"hcasim", "testbench", "seed", "passed", "failures", "simulated_ns", "presets"}) {
    compare(a.value(key, ordered_json()), b.value(key, ordered_json()), key, run);
  }
  compare(a["description"], b["description"], "", description);
  compare(numbers(a["figures"]), numbers(b["figures"]), "", figures);
  compare(numbers(a["statistics"]), numbers(b["statistics"]), "", statistics);
  const std::size_t all = statistics.size();
  std::erase_if(statistics, [&](const difference& d) { return relative(d) < o.threshold; });
  std::stable_sort(statistics.begin(), statistics.end(),
                   [](const difference& x, const difference& y) { return relative(x) > relative(y); });
  const bool same = run.empty() && description.empty() && figures.empty() && all == 0 && a["tables"] == b["tables"];
  if (o.json) {
    std::cout << dump({{"same", same},
                       {"run", as_json(run)},
                       {"description", as_json(description)},
                       {"figures", as_json(figures)},
                       {"statistics", as_json(statistics)},
                       {"tables_differ", a["tables"] != b["tables"]}});
    return same ? run_passed : run_failed;
  }
  if (same) {
    std::cout << "the same description and the same results\n";
    return run_passed;
  }
  print("run", run);
  print("description", description);
  print("figures", figures);
  if (a["tables"] != b["tables"]) std::cout << "tables differ\n\n";
  print("statistics", statistics);
  if (all > statistics.size())
    std::cout << fmt::format("{} statistics changed by less than {:.3g} %\n", all - statistics.size(), o.threshold * 100);
  return run_failed;
}

}  // namespace hcasim
