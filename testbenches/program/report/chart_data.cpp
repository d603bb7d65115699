#include "testbenches/program/report/chart_data.h"

#include <fmt/format.h>

namespace hcasim {
namespace {

using nlohmann::ordered_json;

struct axis_row {
  std::string name;
  std::string title;
  std::vector<std::string> labels;
};

std::vector<axis_row> axes_of(result_file& results) {
  std::vector<axis_row> axes;
  results.query("SELECT name, title, label FROM axes ORDER BY position, value_index", [&](const auto& row) {
    if (axes.empty() || axes.back().name != row[0]) axes.push_back({row[0], row[1], {}});
    axes.back().labels.push_back(row[2]);
  });
  return axes;
}

std::string with_unit(const std::string& title, const std::string& unit) {
  return unit.empty() || unit == "1" || unit == " " ? title : fmt::format("{} [{}]", title, unit);
}

// The values of one metric over x; `where` picks the other axes.
chart_series series_of(result_file& results, std::string name, const std::string& metric, const axis_row& x,
                       const std::string& where) {
  chart_series s{std::move(name), std::vector<std::optional<double>>(x.labels.size())};
  results.query(
      fmt::format("SELECT json_extract(axes, '$.{}'), json_extract(metrics, '$.{}') FROM points WHERE status = 'passed'{}",
                  x.name, metric, where),
      [&](const auto& row) {
        for (std::size_t i = 0; i < x.labels.size(); ++i) {
          if (x.labels[i] == row[0] && !row[1].empty()) s.values[i] = std::stod(row[1]);
        }
      });
  return s;
}

}  // namespace

std::string unit_of_metric(result_file& results, const std::string& metric) {
  std::string unit;
  results.query("SELECT unit FROM metrics WHERE name = " + sql_text(metric), [&](const auto& row) { unit = row[0]; });
  return unit;
}

std::vector<chart_data> charts_of(result_file& results) {
  const std::vector<axis_row> axes = axes_of(results);
  const auto axis = [&](const std::string& name) -> const axis_row* {
    for (const axis_row& a : axes) {
      if (a.name == name) return &a;
    }
    return nullptr;
  };
  std::vector<std::vector<std::string>> rows;
  results.query("SELECT kind, title, x, series, metrics, place FROM charts ORDER BY position",
                [&](const auto& row) { rows.push_back(row); });
  std::vector<chart_data> out;
  for (const auto& row : rows) {
    const axis_row& x = *axis(row[2]);
    const axis_row* by = axis(row[3]);
    chart_data c;
    c.kind = row[0];
    c.title = row[1];
    c.x_title = x.title;
    c.x = x.labels;
    std::string where;
    const auto at = ordered_json::parse(row[5]);
    for (const axis_row& a : axes) {
      if (&a == &x || &a == by) continue;
      const std::string label = at.contains(a.name) ? at[a.name].get<std::string>() : a.labels.front();
      where += fmt::format(" AND json_extract(axes, '$.{}') = {}", a.name, sql_text(label));
      c.fixed += fmt::format("{}{} = {}", c.fixed.empty() ? "" : ", ", a.title, label);
    }
    const auto metrics = ordered_json::parse(row[4]);
    std::string unit;
    for (const auto& m : metrics) {
      const std::string name = m.get<std::string>();
      std::string title = name;
      results.query("SELECT title FROM metrics WHERE name = " + sql_text(name), [&](const auto& t) { title = t[0]; });
      unit = unit_of_metric(results, name);
      if (!by) {
        c.series.push_back(series_of(results, metrics.size() > 1 ? title : "", name, x, where));
      } else {
        c.series_title = by->title;
        for (const std::string& label : by->labels) {
          c.series.push_back(series_of(results, label, name, x,
                                       where + fmt::format(" AND json_extract(axes, '$.{}') = {}", by->name, sql_text(label))));
        }
      }
      c.y_title = with_unit(metrics.size() > 1 ? "" : title, unit);
    }
    if (metrics.size() > 1) c.y_title = unit == " " ? "" : unit;
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace hcasim
