#include "testbenches/coverification/lockstep/whole_system.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

using nlohmann::json;

// Returns the name of a row: its words, and its first cell unless this is a measurement.
std::string row_name(const json& columns, const json& row) {
  std::string name;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool chosen = row[i].is_number() && columns[i].value("unit", "").empty() && i == 0;
    if (columns[i]["name"] == "because" || (!row[i].is_string() && !chosen)) continue;
    name += (name.empty() ? "" : ", ") + (row[i].is_string() ? row[i].get<std::string>() : row[i].dump());
  }
  return name;
}

double in_ns(const std::string& unit) {
  return unit == "ns" ? 1 : unit == "us" ? 1000 : unit == "cycles" ? cycle_ns : 0;
}

void add_table(const json& t, run_figures& out) {
  const json& columns = t["columns"];
  const auto title = t["title"].get<std::string>();
  if (title.starts_with("the fastest way")) return;  // follows from other tables
  const bool steps = columns[0]["name"] == "unit" || title.starts_with("where the time");
  for (const json& row : t["rows"]) {
    const std::string name = row_name(columns, row);
    out.words.push_back(fmt::format("{}: {}", title, name));
    double latency = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].is_number()) continue;
      const auto column = columns[i]["name"].get<std::string>();
      const auto unit = columns[i].value("unit", "");
      const double v = row[i];
      if (column == "traffic p99") latency = v * 1e3;  // us
      if (column == "share") continue;                 // has the same content as the time beside it
      out.all.push_back({.name = fmt::format("{}: {}: {}", title, name, column),
                         .value = v,
                         .of = column == "stall" && latency > 0 ? latency : std::fabs(v),
                         .ns = in_ns(unit),
                         .part = steps && column != "in all" && name != "total"});
    }
  }
}

}  // namespace

run_figures figures_of(const std::string& arguments, const std::vector<std::string>& units) {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("hcasim_whole_system_{}", ::getpid());
  std::string all = fmt::format("run {} --no-trace --json --force -o {}", arguments, folder);
  for (const std::string& u : units) all += fmt::format(" --set 'node*.hca.{}.implementation=rtl'", u);
  const outcome o = run_program(places::program, all);
  std::filesystem::remove_all(folder);
  run_figures out;
  const json r = json::parse(o.text, nullptr, false);
  if (o.status != 0 || r.is_discarded() || !r["passed"].get<bool>()) {
    out.problem = o.text;
    return out;
  }
  for (const auto& [name, f] : r["figures"].items()) {
    const double v = f["value"];
    out.all.push_back({.name = name, .value = v, .of = std::fabs(v), .ns = in_ns(f["unit"])});
  }
  for (const json& t : r["tables"]) add_table(t, out);
  return out;
}

double difference(const run_figure& model, const run_figure& rtl) {
  if (model.name != rtl.name) return 1;
  if (model.value == rtl.value) return 0;
  return model.of == 0 ? 1 : (rtl.value - model.value) / model.of;
}

}  // namespace hcasim
