#include "testbenches/program/report/what_if_table.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "testbenches/program/explanation/what_if_gain.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/results/report.h"

namespace hcasim {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t rows_of_point = 8;

std::string html_cell(const std::string& text, bool number = false) {
  return fmt::format("<td{}>{}</td>", number ? " class=\"number\"" : "", escaped(text));
}

// Returns the smallest gain of a point that is not chance.
double least_of(const ordered_json& what_if) {
  return what_if.value("least", helps);
}

// Returns one line of a point: the relieved resource, and its gain.
std::string html_row(const ordered_json& point, const ordered_json& gain) {
  std::string out = "<tr>" + html_cell(std::to_string(point["point"].get<std::uint64_t>()), true);
  for (const auto& [axis, label] : point["axes"].items()) out += html_cell(label);
  if (gain.is_null()) return out + html_cell(fmt::format("no tried change gains {:.3g} %", 100 * least_of(point))) + "</tr>\n";
  out += html_cell(gain["relieved"]) + html_cell(gain["change"]);
  out += html_cell(fmt::format("{:+.1f} %", gain["gain"].get<double>() * 100), true);
  std::string values;
  for (const auto& h : point["headlines"]) {
    const std::string name = h["name"];
    values += fmt::format("{}{} {} -> {} {}", values.empty() ? "" : ", ", name, number_text(h["value"]),
                          number_text(gain["values"][name]), h["unit"].get<std::string>());
  }
  return out + html_cell(values) + html_cell(gain.value("busiest", "")) + "</tr>\n";
}

// Returns the changes of one list, resources or latencies, that help. Units count where no knob helps by itself.
std::vector<const ordered_json*> helpful(const ordered_json& trials, double least) {
  std::vector<const ordered_json*> out;
  for (const char* list : {"gains", "units"}) {
    for (const auto& gain : trials[list]) {
      if (out.size() < rows_of_point && gain.value("gain", 0.0) >= least) out.push_back(&gain);
    }
    if (!out.empty()) break;
  }
  return out;
}

std::string html_rows(const ordered_json& point, const ordered_json& trials) {
  std::string rows;
  for (const ordered_json* gain : helpful(trials, least_of(point))) rows += html_row(point, *gain);
  return rows;
}

}  // namespace

ordered_json what_ifs_of(result_file& results) {
  ordered_json out = ordered_json::array();
  bool there = false;
  results.query("SELECT name FROM sqlite_master WHERE name = 'what_ifs'", [&](const auto&) { there = true; });
  if (!there) return out;
  results.query("SELECT id, axes, gains FROM what_ifs JOIN points USING (id) ORDER BY id", [&](const auto& row) {
    ordered_json point{{"point", std::stoull(row[0])}, {"axes", ordered_json::parse(row[1])}};
    point.update(ordered_json::parse(row[2]));
    out.push_back(std::move(point));
  });
  return out;
}

ordered_json largest_gains(const ordered_json& what_if) {
  ordered_json out = ordered_json::array();
  for (const ordered_json* trials : {&what_if, &what_if["latencies"]}) {
    for (const ordered_json* gain : helpful(*trials, least_of(what_if)))
      out.push_back({(*gain)["relieved"], (*gain)["change"], std::round((*gain)["gain"].get<double>() * 1000) / 10});
  }
  return out;
}

std::string what_if_section(const ordered_json& what_ifs) {
  if (what_ifs.empty()) return "";
  std::string head = "<th>point</th>";
  for (const auto& [axis, label] : what_ifs[0]["axes"].items()) head += fmt::format("<th>{}</th>", escaped(axis));
  for (const char* name : {"relieved", "change", "gain", "figures", "how busy it was"})
    head += fmt::format("<th>{}</th>", name);
  std::string rows;
  for (const auto& point : what_ifs) {
    const std::string lines = html_rows(point, point) + html_rows(point, point["latencies"]);
    rows += lines.empty() ? html_row(point, nullptr) : lines;
  }
  return fmt::format(
      "<h2>What relieving each resource gains</h2>\n<p class=\"facts\">each tried alone: twice the count, size or rate, half "
      "the time; resources first, then latencies</p>\n<div class=\"scroll\"><table "
      "id=\"what_if\"><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

}  // namespace hcasim
