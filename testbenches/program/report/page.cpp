#include "testbenches/program/report/page.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "testbenches/program/description/shared_file.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/report/chart_data.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/report/what_if_table.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

// JSON that may stand inside <script>.
std::string in_script(const ordered_json& j) {
  std::string text = compact(j);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) text.replace(at, 1, "\\u003c");
  return text;
}

ordered_json axes_json(result_file& results) {
  ordered_json axes = ordered_json::array();
  results.query("SELECT name, title, unit, label, number, logarithmic FROM axes ORDER BY position, value_index",
                [&](const auto& row) {
                  if (axes.empty() || axes.back()["name"] != row[0]) {
                    axes.push_back({{"name", row[0]},
                                    {"title", row[1]},
                                    {"unit", row[2]},
                                    {"logarithmic", row[5] == "1"},
                                    {"labels", ordered_json::array()},
                                    {"numbers", ordered_json::array()}});
                  }
                  axes.back()["labels"].push_back(row[3]);
                  axes.back()["numbers"].push_back(row[4].empty() ? ordered_json() : ordered_json(std::stod(row[4])));
                });
  return axes;
}

ordered_json metrics_of(result_file& results) {
  ordered_json metrics = ordered_json::array();
  results.query("SELECT name, title, unit FROM metrics ORDER BY position", [&](const auto& row) {
    metrics.push_back({{"name", row[0]}, {"title", row[1]}, {"unit", row[2]}});
  });
  return metrics;
}

// Returns the charts that the page's script does not draw, as pictures; empty = none.
std::string pictures(result_file& results) {
  std::string out;
  std::vector<bool> wanted;
  std::vector<std::pair<std::string, std::string>> charts;
  results.query("SELECT kind, x FROM charts ORDER BY position", [&](const auto& row) { charts.emplace_back(row[0], row[1]); });
  for (const auto& [kind, x] : charts) wanted.push_back(needs_picture(results, kind, x));
  if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return out;
  const std::vector<chart_data> all = charts_of(results);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted[i]) out += fmt::format("<div class=\"picture\">{}</div>\n", svg_chart(all[i]));
  }
  return out;
}

// Returns the points whose caches were still being filled; empty = none.
std::string cold_caches(result_file& results) {
  constexpr std::size_t shown = 100;
  std::string rows;
  std::size_t count = 0;
  results.query("SELECT id, filling FROM points WHERE status = 'passed' AND filling <> '[]' ORDER BY id", [&](const auto& row) {
    std::string caches;
    for (const auto& c : ordered_json::parse(row[1])) {
      caches += fmt::format("{}{} {:.1f} %", caches.empty() ? "" : ", ", c["unit"].template get<std::string>(),
                            c["share"].template get<double>() * 100);
    }
    if (++count <= shown) rows += fmt::format("<tr><td class=\"number\">{}</td><td>{}</td></tr>\n", row[0], escaped(caches));
  });
  if (count == 0) return "";
  return fmt::format(
      "<h2>Cold caches</h2>\n<p class=\"facts\">{} points measured caches that were still being filled: their ratios are not "
      "of a "
      "longer run. Share of the lookups that filled an empty place:</p>\n<div class=\"scroll\"><table id=\"cold\"><thead><tr>"
      "<th>point</th><th>caches</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      count, rows);
}

// Names that rows refer to by number.
class name_list {
 public:
  std::size_t number(const std::string& name) { return numbers_.emplace(name, numbers_.size()).first->second; }
  [[nodiscard]] ordered_json json() const {
    std::vector<std::string> names(numbers_.size());
    for (const auto& [name, number] : numbers_) names[number] = name;
    return names;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

// Returns a column as {"runs": [value, count, value, count, ...]} where this is shorter: a browser has less text to read.
ordered_json in_runs(ordered_json column) {
  ordered_json runs = ordered_json::array();
  for (std::size_t begin = 0; begin < column.size();) {
    std::size_t end = begin + 1;
    while (end < column.size() && column[end] == column[begin]) ++end;
    runs.push_back(column[begin]);
    runs.push_back(end - begin);
    if (runs.size() >= column.size()) return column;
    begin = end;
  }
  return {{"runs", std::move(runs)}};
}

// Returns the points column by column, which a browser reads faster than row by row. Columns: indices of the axes' values, the
// metrics, the status, the busiest resource (both by number) and its utilisation in percent.
ordered_json columns_of(result_file& results, const ordered_json& axes, const ordered_json& metrics, name_list& statuses,
                        name_list& resources) {
  std::string wanted;
  std::vector<std::map<std::string, std::size_t>> labels;
  for (const auto& a : axes) {
    wanted += fmt::format(", json_extract(axes, '$.{}')", a["name"].get<std::string>());
    labels.emplace_back();
    for (const auto& l : a["labels"]) labels.back().emplace(l, labels.back().size());
  }
  std::vector<std::string> names;
  for (const auto& m : metrics) names.push_back(m["name"]);
  ordered_json columns = ordered_json::array();
  for (std::size_t i = 0; i < axes.size() + metrics.size() + 3; ++i) columns.push_back(ordered_json::array());
  results.query(
      "SELECT status, json_extract(resources, '$[0].unit') || ' ' || json_extract(resources, '$[0].resource'), "
      "json_extract(resources, "
      "'$[0].utilisation'), metrics" +
          wanted + " FROM points ORDER BY id",
      [&](const auto& row) {
        auto column = columns.begin();
        for (std::size_t i = 0; i < labels.size(); ++i) (column++)->push_back(labels[i].at(row[4 + i]));
        const ordered_json values = row[3].empty() ? ordered_json::object() : ordered_json::parse(row[3]);
        for (const std::string& name : names) (column++)->push_back(values.value(name, ordered_json()));
        (column++)->push_back(statuses.number(row[0]));
        (column++)->push_back(row[1].empty() ? ordered_json() : ordered_json(resources.number(row[1])));
        column->push_back(row[2].empty() ? ordered_json() : ordered_json(std::round(std::stod(row[2]) * 1000) / 10));
      });
  for (ordered_json& column : columns) column = in_runs(std::move(column));
  return columns;
}

// Returns the details of single points, by row: failures, busiest resources, gains of relieving one, ways of operations, curves
// of statistics. Of many points only failures.
ordered_json details_of(result_file& results) {
  constexpr std::size_t most = 1000, busiest = 8;
  std::map<std::string, ordered_json> what_ifs;
  for (const ordered_json& point : what_ifs_of(results)) what_ifs[std::to_string(point["point"].get<std::uint64_t>())] = point;
  ordered_json details = ordered_json::object();
  std::uint64_t points = 0;
  results.query("SELECT count(*) FROM points", [&](const auto& row) { points = std::stoull(row[0]); });
  const char* const wanted = points <= most ? "1" : "status <> 'passed'";
  results.query(
      fmt::format("SELECT n, failures, resources, breakdown, series, id FROM (SELECT *, row_number() OVER (ORDER BY id) - 1 AS "
                  "n FROM points) "
                  "WHERE {} ORDER BY n LIMIT {}",
                  wanted, most),
      [&](const auto& row) {
        ordered_json& to = details[row[0]] = ordered_json::object();
        const auto parsed = [&](std::size_t i) { return row[i].empty() ? ordered_json() : ordered_json::parse(row[i]); };
        if (const ordered_json failures = parsed(1); !failures.empty()) to["failures"] = failures;
        for (const ordered_json& r : parsed(2)) {
          if (to["resources"].size() == busiest) break;
          to["resources"].push_back({r["unit"].template get<std::string>() + " " + r["resource"].template get<std::string>(),
                                     std::round(r["utilisation"].template get<double>() * 1000) / 10});
        }
        const ordered_json operations = parsed(3);
        for (const auto& [operation, way] : operations.items()) {
          ordered_json steps = ordered_json::array();
          for (const ordered_json& step : way["steps"]) steps.push_back({step["unit"], step["ns"]});
          to["breakdown"].push_back({operation, std::move(steps)});
        }
        const ordered_json series = parsed(4);
        for (const auto& [name, s] : series.items()) {
          if (s.contains("curve")) to["series"].push_back({name, s["from_ns"], s["until_ns"], s["curve"]});
        }
        if (const auto gained = what_ifs.find(row[5]); gained != what_ifs.end()) to["what_if"] = largest_gains(gained->second);
      });
  return details;
}

constexpr std::string_view skeleton = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{name}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<p class="question">{question}</p>
<p class="facts">hcasim {version}, {rows} of {points} points</p>
<h2>Charts</h2>
<div id="charts"></div>
<p class="buttons"><button type="button" id="add">another chart</button></p>
{pictures}<h2>Points</h2>
<p class="facts">A column's head sorts. The number of a point opens it; two ticked points stand beside each other.</p>
<div class="buttons"><button type="button" id="csv">CSV of all points</button> <span id="pages" class="pages"></span></div>
<section id="compare" aria-live="polite"></section>
<section id="detail" aria-live="polite"></section>
<div class="scroll" tabindex="0"><table id="table"></table></div>
{sections}<h2>Description</h2>
<details><summary>every value that point 1 was run with; the axes say what the others differ in</summary><pre id="description"></pre></details>
</main>
)";

}  // namespace

std::string asset(const std::string& name) {
  const std::string file = shared_file("report/" + name);
  errno = file.empty() ? ENOENT : 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (in && !text.str().empty()) return text.str();
  if (errno != ENOENT) throw input_error(fmt::format("cannot read '{}': {}", file, cause(errno, "use --svg")));
  const bool others = !shared_file("report/report.css").empty();
  throw input_error(fmt::format("there is no '{}', which the page is made of: {}, or use --svg", name,
                                others ? "install npm and configure again" : "run hcasim where it was built or installed"));
}

std::string report_page(result_file& results, result_file* other) {
  ordered_json data;
  data["name"] = results.study_value("name");
  data["axes"] = axes_json(results);
  data["metrics"] = metrics_of(results);
  data["charts"] = ordered_json::array();
  const auto is_axis = [&](const std::string& name) {
    return std::any_of(data["axes"].begin(), data["axes"].end(), [&](const auto& a) { return a["name"] == name; });
  };
  results.query("SELECT kind, title, x, series, metrics, place FROM charts ORDER BY position", [&](const auto& row) {
    if (row[0] == "tornado" || !is_axis(row[2])) return;
    data["charts"].push_back({{"kind", row[0]},
                              {"title", row[1]},
                              {"x", row[2]},
                              {"series", row[3]},
                              {"metrics", ordered_json::parse(row[4])},
                              {"at", ordered_json::parse(row[5])}});
  });
  name_list statuses;
  name_list resources;
  data["columns"] = columns_of(results, data["axes"], data["metrics"], statuses, resources);
  if (other) {
    if (axes_json(*other) != data["axes"])
      throw input_error("the two results have different axes; only points of the same axes can be compared");
    data["other"] = {{"name", other->study_value("name") + ", the other"},
                     {"columns", columns_of(*other, data["axes"], data["metrics"], statuses, resources)}};
  }
  data["statuses"] = statuses.json();
  data["resources"] = resources.json();
  std::string rows;
  results.query("SELECT count(*) FROM points", [&](const auto& row) { rows = row[0]; });
  results.query("SELECT description FROM points WHERE description IS NOT NULL ORDER BY id LIMIT 1",
                [&](const auto& row) { data["description"] = ordered_json::parse(row[0]); });
  data["file"] = results.study_value("file");
  data["repeats"] = results.study_value("repeats");
  data["details"] = details_of(results);
  std::string page =
      fmt::format(fmt::runtime(skeleton), fmt::arg("name", escaped(results.study_value("name"))),
                  fmt::arg("style", asset("report.css")), fmt::arg("question", escaped(results.study_value("question"))),
                  fmt::arg("version", escaped(results.study_value("version"))), fmt::arg("rows", rows),
                  fmt::arg("points", results.study_value("points")), fmt::arg("pictures", pictures(results)),
                  fmt::arg("sections", what_if_section(what_ifs_of(results)) + cold_caches(results)));
  page += R"(<script id="data" type="application/json">)" + in_script(data) + "</script>\n<script>\n" +
          asset("echarts.min.js") + "\n</script>\n";
  for (const char* const part : {"results", "charts", "panels", "points", "desk"}) {
    page += fmt::format("<script>\n{}</script>\n", asset(fmt::format("desk/{}.js", part)));
  }
  return page + "</body>\n</html>\n";
}

}  // namespace hcasim
