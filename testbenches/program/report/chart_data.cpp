#include "testbenches/program/report/chart_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"
#include "testbenches/program/study/repetition.h"
#include "testbenches/program/study/tornado.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

struct axis_row {
  std::string name;
  std::string title;
  std::vector<std::string> labels;
  std::string value;                // expression of SQL for a point's place
  std::vector<std::string> keys{};  // results of the expression, one for each label
};

std::vector<axis_row> axes_of(result_file& results) {
  std::vector<axis_row> axes;
  results.query("SELECT name, title, label FROM axes ORDER BY position, value_index", [&](const auto& row) {
    if (axes.empty() || axes.back().name != row[0])
      axes.push_back({row[0], row[1], {}, fmt::format("json_extract(axes, '$.{}')", row[0])});
    axes.back().labels.push_back(row[2]);
    axes.back().keys.push_back(row[2]);
  });
  return axes;
}

// Returns a derived axis: the values of a metric in rising order.
axis_row derived_axis(result_file& results, const std::string& name) {
  axis_row a{name, name, {}, fmt::format("json_extract(metrics, '$.{}')", name)};
  results.query("SELECT title, unit FROM metrics WHERE name = " + sql_text(name), [&](const auto& row) {
    a.title = row[1].empty() || row[1] == " " ? row[0] : fmt::format("{} [{}]", row[0], row[1]);
  });
  results.query(
      fmt::format("SELECT DISTINCT {0} FROM points WHERE status = 'passed' AND {0} IS NOT NULL ORDER BY {0}", a.value),
      [&](const auto& row) {
        a.keys.push_back(row[0]);
        a.labels.push_back(number_text(std::stod(row[0])));
      });
  return a;
}

// Returns the axis of seeds; empty = none.
std::string repeated_axis(result_file& results) {
  const std::string name = results.study_value("repeats");
  return name == " " ? "" : name;
}

std::string with_unit(const std::string& title, const std::string& unit) {
  return unit.empty() || unit == "1" || unit == " " ? title : fmt::format("{} [{}]", title, unit);
}

// The values of one metric over x; `where` picks the other axes. Several points of one place show their mean.
chart_series series_of(result_file& results, std::string name, const std::string& metric, const axis_row& x,
                       const std::string& where) {
  std::vector<std::vector<double>> found(x.keys.size());
  results.query(
      fmt::format("SELECT {}, json_extract(metrics, '$.{}') FROM points WHERE status = 'passed'{}", x.value, metric, where),
      [&](const auto& row) {
        const auto at = std::find(x.keys.begin(), x.keys.end(), row[0]);
        if (at != x.keys.end() && !row[1].empty())
          found[static_cast<std::size_t>(at - x.keys.begin())].push_back(std::stod(row[1]));
      });
  chart_series s{std::move(name), std::vector<std::optional<double>>(x.labels.size())};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const spread over = spread_of(found[i]);
    s.values[i] = over.mean;
    if (over.count < 2) continue;
    s.errors.resize(x.labels.size());
    s.errors[i] = over.confidence;
  }
  return s;
}

// The effects of each knob on one metric, in percent of the base.
chart_data tornado_chart(result_file& results, const std::string& metric, const std::vector<axis_row>& axes,
                         const ordered_json& at) {
  chart_data c;
  c.kind = "tornado";
  ordered_json place = ordered_json::object();
  for (const axis_row& a : axes) {
    if (a.name == study_tornado::axis) continue;
    place[a.name] = at.contains(a.name) ? at[a.name] : ordered_json(a.labels.front());
    c.fixed += fmt::format("{}{} = {}", c.fixed.empty() ? "" : ", ", a.title, place[a.name].get<std::string>());
  }
  c.series = {{"less", {}}, {"more", {}}};
  const auto change = [](const std::string& v, const std::string& base) {
    return v.empty() || std::stod(base) == 0 ? std::nullopt : std::optional<double>((std::stod(v) / std::stod(base) - 1) * 100);
  };
  results.query(fmt::format("SELECT knob, low, base, high FROM tornado WHERE metric = {} AND axes = {} ORDER BY rowid",
                            sql_text(metric), sql_text(compact(place))),
                [&](const auto& row) {
                  c.x.push_back(row[0]);
                  c.series[0].values.push_back(change(row[1], row[2]));
                  c.series[1].values.push_back(change(row[3], row[2]));
                });
  return c;
}

}  // namespace

bool needs_picture(result_file& results, const std::string& kind, const std::string& x) {
  const auto axes = axes_of(results);
  const bool is_axis = std::any_of(axes.begin(), axes.end(), [&](const axis_row& a) { return a.name == x; });
  return kind == "tornado" || !is_axis || !repeated_axis(results).empty();
}

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
  const std::string repeats = repeated_axis(results);
  std::vector<std::vector<std::string>> rows;
  results.query("SELECT kind, title, x, series, metrics, place FROM charts ORDER BY position",
                [&](const auto& row) { rows.push_back(row); });
  std::vector<chart_data> out;
  for (const auto& row : rows) {
    const auto at = ordered_json::parse(row[5]);
    if (row[0] == "tornado") {
      const std::string metric = ordered_json::parse(row[4])[0];
      chart_data c = tornado_chart(results, metric, axes, at);
      c.title = row[1];
      c.y_title = fmt::format("change of {} [%]", metric);
      out.push_back(std::move(c));
      continue;
    }
    const bool derived = !axis(row[2]);
    const axis_row x = derived ? derived_axis(results, row[2]) : *axis(row[2]);
    const axis_row* by = axis(row[3]);
    chart_data c;
    c.kind = row[0];
    c.title = row[1];
    c.x_title = x.title;
    c.x = x.labels;
    std::string where;
    for (const axis_row& a : axes) {
      if (a.name == x.name || &a == by || (derived && !at.contains(a.name))) continue;
      if (a.name == repeats && !at.contains(a.name)) {
        c.fixed += fmt::format("{}mean over {} of {}, 95 % confidence", c.fixed.empty() ? "" : ", ", a.labels.size(), a.title);
        continue;
      }
      const std::string label = at.contains(a.name) ? at[a.name].get<std::string>() : a.labels.front();
      where += fmt::format(" AND {} = {}", a.value, sql_text(label));
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
