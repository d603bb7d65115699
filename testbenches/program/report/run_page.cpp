#include "testbenches/program/report/run_page.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/execution/output_folder.h"
#include "testbenches/program/recording/statistics_series.h"
#include "testbenches/program/report/page.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// "node0.hca.mrc_cache.hit_ratio [1]": which chart it is on, and which line there.
struct column_name {
  std::string chart;
  std::string unit;
  std::string line;
};

column_name name_of_column(const std::string& head) {
  const std::size_t bracket = head.rfind(" [");
  const std::string full = head.substr(0, bracket);
  std::size_t dot = full.rfind('.');
  for (const std::string_view part : {".mean", ".peak", ".count", ".min", ".max", ".p50", ".p90", ".p99"}) {
    if (full.ends_with(part)) dot = full.rfind('.', dot - 1);
  }
  const std::string unit = bracket == std::string::npos ? "" : head.substr(bracket + 2, head.size() - bracket - 3);
  return {full.substr(dot + 1), unit, full.substr(0, dot)};
}

std::optional<double> number_in(const std::string& cell) {
  double v = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  return error == std::errc{} && end == cell.data() + cell.size() ? std::optional(v) : std::nullopt;
}

std::string style() {
  return asset("report.css");
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=\"scroll\"><table>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += fmt::format("<td>{}</td>", escaped(cell));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string measured_text(const ordered_json& result) {
  const auto us = [](const ordered_json& ns) { return number_text(ns.get<double>() / 1e3); };
  const ordered_json& m = result["measured"];
  return fmt::format("measured: {} to {} us", us(m["begin_ns"]), us(m["end_ns"]));
}

}  // namespace

bool holds_run(const fs::path& folder) {
  std::error_code ec;
  return fs::exists(folder / "result.json", ec);
}

std::string name_of_run(const fs::path& folder) {
  return read_result(folder)["testbench"];
}

std::vector<chart_data> charts_of_run(const fs::path& folder) {
  const fs::path file = folder / statistics_series::file_name;
  std::ifstream in(file);
  if (!in) {
    throw input_error(fmt::format(
        "'{}' holds a run without statistics over time; run it again with --set statistics.interval='10 us'", folder.string()));
  }
  const ordered_json result = read_result(folder);
  const std::string measured = measured_text(result);
  const double end = result["measured"]["end_ns"].get<double>() / 1e3;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> heads = split(line, ',');
  std::vector<chart_data> charts;
  std::vector<std::pair<std::size_t, std::size_t>> place;  // chart and line of each column
  for (std::size_t c = 2; c < heads.size(); ++c) {
    const column_name name = name_of_column(heads[c]);
    const std::string y = name.unit == "1" ? name.chart : fmt::format("{} [{}]", name.chart, name.unit);
    auto chart = std::find_if(charts.begin(), charts.end(), [&](const chart_data& d) { return d.y_title == y; });
    if (chart == charts.end()) {
      charts.push_back({"line", name.chart + " over time", "time [us]", {}, "", y, {}, measured});
      chart = charts.end() - 1;
    }
    chart->series.push_back({name.line, {}});
    place.emplace_back(chart - charts.begin(), chart->series.size() - 1);
  }
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() != heads.size()) throw input_error(fmt::format("'{}' is damaged: '{}'", file.string(), line));
    if (number_in(cells[0]).value_or(0) >= end) break;  // work after the end is in the file alone
    for (chart_data& d : charts) d.x.push_back(cells[1]);
    for (std::size_t c = 2; c < cells.size(); ++c) {
      charts[place[c - 2].first].series[place[c - 2].second].values.push_back(number_in(cells[c]));
    }
  }
  return charts;
}

std::string run_page(const fs::path& folder) {
  const std::vector<chart_data> charts = charts_of_run(folder);
  const ordered_json r = read_result(folder);
  const std::string name = escaped(r["testbench"].get<std::string>());
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
      "charset=\"utf-8\">\n<title>{0}</title>\n<style>\n{1}</style>\n</head>\n"
      "<body>\n<h1>{0}</h1>\n<p class=\"facts\">hcasim {2}, seed {3}, {4}, {5} us simulated, {6}</p>\n",
      name, style(), escaped(r["hcasim"].get<std::string>()), r["seed"].get<std::uint64_t>(),
      r["passed"].get<bool>() ? "passed" : "FAILED", number_text(r["simulated_ns"].get<double>() / 1e3), measured_text(r));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [figure, f] : r["figures"].items()) {
    const std::string value = f["value"].is_number() ? number_text(f["value"]) : "-";
    rows.push_back({figure, value + " " + (f["unit"] == "1" ? "" : f["unit"].get<std::string>()), f["help"]});
  }
  out += html_table(rows) + "<h2>Statistics over time</h2>\n";
  for (const chart_data& c : charts) out += svg_chart(c);
  out += "<h2>How busy the resources were, in the measured part</h2>\n";
  rows.clear();
  for (const auto& u : r["resources"]) {
    if (rows.size() == 12) break;
    rows.push_back({u["unit"], u["resource"], fmt::format("{:.1f} %", u["utilisation"].get<double>() * 100), u["help"]});
  }
  out += html_table(rows);
  return out + fmt::format(
                   "<h2>Description</h2>\n<details><summary>every value that the run was made with</summary><pre>{}</pre>"
                   "</details>\n</body>\n</html>\n",
                   escaped(dump(r["description"])));
}

}  // namespace hcasim
