#include "testbenches/program/study/study.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "testbenches/program/description/names.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/explanation/what_if_change.h"
#include "testbenches/program/study/axis_reader.h"
#include "testbenches/program/study/formula_reader.h"
#include "testbenches/program/study/strict_yaml.h"

namespace hcasim {
namespace fs = std::filesystem;

// Reads the file's sections; every key must be known.
struct study::reader {
  study& out;
  platform_factory machine;
  strict_yaml yaml{out.file_};

  void read(const YAML::Node& root) {
    if (!root.IsDefined() || !root.IsMap()) {
      throw description_error({out.file_.string(), 0, 0}, "",
                              "a study is made of 'name: value' lines: study, base, axes, metrics");
    }
    yaml.check_keys(root, "",
                    {"study", "question", "base", "axes", "tornado", "metrics", "charts", "goal", "what_if", "description"});
    out.name_ = root["study"] ? yaml.scalar(root["study"], "study") : out.file_.stem().string();
    if (root["question"]) out.question_ = yaml.scalar(root["question"], "question");
    if (!root["base"]) yaml.fail(root, "base", "the study has no base: the description that its axes vary");
    out.base_.read_node(root["base"], out.file_);
    if (!out.base_.testbench())
      yaml.fail(root["base"], "base.testbench", "the base names no testbench; add 'testbench: NAME' ('hcasim list')");
    prepared_run scratch(*out.base_.testbench(), out.base_.testbench_place(), machine);
    description base = out.base_;
    scratch.apply(base);
    if (root["tornado"]) read_tornado_axis(root["tornado"], scratch);
    if (!root["axes"] && !root["tornado"]) yaml.fail(root, "axes", "the study has no axes; 'hcasim run' runs one description");
    if (root["axes"]) read_axes(root["axes"], scratch);
    if (out.axes_.empty())
      yaml.fail(root["axes"], "axes", "every axis is derived, so there is nothing to vary; add 'name: {knob: PATH, ...}'");
    if (root["axes"]) read_derived(root["axes"], scratch);
    refuse_idle();
    if (!root["metrics"]) yaml.fail(root, "metrics", "the study has no metrics; add at least one");
    read_metrics(root["metrics"], scratch);
    if (root["charts"]) read_charts(root["charts"]);
    if (out.charts_.empty()) default_chart();
    if (root["goal"]) out.goal_ = read_goal(yaml, root["goal"], out.axes_, out.metrics_);
    if (root["what_if"]) read_what_if(root["what_if"], scratch);
  }

  // Refuses settings that matter in no point: the first point switches them off, and no axis changes the switch.
  void refuse_idle() const {
    prepared_run first(*out.base_.testbench(), out.base_.testbench_place(), machine);
    description d = out.describe(1);
    try {
      first.apply(d);
    } catch (const input_error&) {
      return;  // the point itself tells
    }
    for (const idle_setting& s : first.idle(d)) {
      if (!an_axis_sets(s.switches)) throw description_error(s.where, s.pattern, s.text);
    }
  }

  [[nodiscard]] bool an_axis_sets(const std::vector<std::string>& switches) const {
    for (const study_axis& a : out.axes_) {
      for (const auto& value : a.values) {
        for (const auto& [path, text] : value.settings) {
          if (path.ends_with("preset")) return true;
          for (const std::string& s : switches) {
            if (matches_path(path, s)) return true;
          }
        }
      }
    }
    return false;
  }

  void read_what_if(const YAML::Node& n, const prepared_run& scratch) const {
    const std::string pattern = yaml.scalar(n, "what_if");
    if (pattern == "false") return;
    out.what_if_ = pattern == "true" ? "" : pattern;
    if (pattern == "true") return;
    try {
      changes_for(scratch.tree(), pattern);
    } catch (const input_error& e) {
      yaml.fail(n, "what_if", e.what());
    }
  }

  void read_tornado_axis(const YAML::Node& n, prepared_run& scratch) const {
    study_axis a;
    out.tornado_ = read_tornado(yaml, n, scratch.tree(), a);
    out.axes_.push_back(std::move(a));
  }

  void read_axes(const YAML::Node& axes, prepared_run& scratch) const {
    axis_reader reader_of_axes(yaml, scratch);
    for (const tornado_arm& arm : out.tornado_.arms) reader_of_axes.taken(arm.knob);
    if (!axes.IsMap() || axes.size() == 0)
      yaml.fail(axes, "axes", "an axis is 'name: {knob: PATH, values: [...]}'; at least one is needed");
    std::set<std::string> names;
    if (!out.axes_.empty()) names.insert(out.axes_[0].name);
    for (const auto& entry : axes) {
      const std::string name = entry.first.Scalar();
      const std::string path = "axes." + name;
      yaml.check_name(entry.first, path, name, names);
      if (entry.second.IsMap() && entry.second["formula"]) continue;  // derived: a metric, read after all axes
      study_axis a;
      a.name = a.title = name;
      a.where = yaml.at(entry.first);
      reader_of_axes.read_axis(entry.second, path, a);
      if (a.values.empty())
        yaml.fail(entry.second, path, "the axis has no values, so the study has no points; give it at least one");
      out.axes_.push_back(std::move(a));
    }
  }

  void read_metrics(const YAML::Node& n, const prepared_run& scratch) {
    if (!n.IsMap() || n.size() == 0) yaml.fail(n, "metrics", "a metric is 'name: {figure: NAME}'; at least one is needed");
    formula_reader formulas(yaml, out.axes_, scratch.tree());
    for (const metric& m : out.metrics_) formulas.known(m.name);
    std::set<std::string> names;
    for (const auto& entry : n) {
      metric m;
      m.name = entry.first.Scalar();
      const std::string path = "metrics." + m.name;
      yaml.check_name(entry.first, path, m.name, names);
      if (m.name == "id" || m.name == "status" || axis_named(m.name) || derived_named(m.name))
        yaml.fail(entry.first, path, "the name is taken; choose another");
      m.where = yaml.at(entry.first);
      read_metric(entry.second, path, m);
      if (m.source == metric_source::formula) formulas.read(entry.second, path, m);
      formulas.known(m.name);
      out.metrics_.push_back(std::move(m));
    }
  }
  // Reads the axes with a formula: metrics without values of their own, which may stand along a chart.
  void read_derived(const YAML::Node& axes, const prepared_run& scratch) const {
    formula_reader formulas(yaml, out.axes_, scratch.tree());
    for (const auto& entry : axes) {
      if (!entry.second.IsMap() || !entry.second["formula"]) continue;
      metric m;
      m.name = entry.first.Scalar();
      const std::string path = "axes." + m.name;
      yaml.check_keys(entry.second, path, {"formula", "title", "unit"});
      const auto text = [&](const char* key) { return yaml.scalar(entry.second[key], path + "." + key); };
      m.title = entry.second["title"] ? text("title") : m.name;
      if (entry.second["unit"]) m.unit = text("unit");
      m.what = text("formula");
      m.source = metric_source::formula;
      m.derived = true;
      m.where = yaml.at(entry.first);
      formulas.read(entry.second, path, m);
      formulas.known(m.name);
      out.metrics_.push_back(std::move(m));
    }
  }
  void read_metric(const YAML::Node& n, const std::string& path, metric& m) const {
    yaml.check_keys(n, path,
                    {"figure", "statistic", "row", "column", "table", "resource", "cost", "explain", "step", "kind", "series",
                     "formula", "of", "unit", "title"});
    const auto text = [&](const char* key) { return n[key] ? yaml.scalar(n[key], path + "." + key) : std::string(); };
    m.title = n["title"] ? text("title") : m.name;
    m.unit = text("unit");
    m.of = text("of");
    m.table = text("table");
    m.row = text("row");
    int given = 0;
    const auto take = [&](const char* key, metric_source source) {
      if (!n[key]) return;
      ++given;
      m.source = source;
      m.what = text(key);
    };
    take("figure", metric_source::figure);
    take("statistic", metric_source::statistic);
    take("column", metric_source::table_cell);
    take("resource", metric_source::resource);
    take("cost", metric_source::cost);
    take("explain", metric_source::explain);
    take("series", metric_source::series);
    take("formula", metric_source::formula);
    m.step = text("step");
    m.kind = text("kind");
    if (given != 1)
      yaml.fail(n, path,
                "exactly one of figure, statistic, column (with row), resource, cost, explain, series or formula is needed");
    if ((m.source == metric_source::table_cell) != !m.row.empty()) yaml.fail(n, path, "row and column go together");
    if (!m.of.empty() && m.source != metric_source::statistic && m.source != metric_source::series)
      yaml.fail(n["of"], path + ".of", "only a statistic and a series have several values");
    if (!m.step.empty() && m.source != metric_source::explain) yaml.fail(n["step"], path + ".step", "only explain has steps");
    if (!m.kind.empty() && m.step.empty()) yaml.fail(n["kind"], path + ".kind", "a kind is one of a step; add 'step: UNIT'");
  }

  [[nodiscard]] bool axis_named(const std::string& name) const {
    return std::any_of(out.axes_.begin(), out.axes_.end(), [&](const study_axis& a) { return a.name == name; });
  }
  [[nodiscard]] bool derived_named(const std::string& name) const {
    return std::any_of(out.metrics_.begin(), out.metrics_.end(), [&](const metric& m) { return m.derived && m.name == name; });
  }
  std::string axis(const YAML::Node& n, const std::string& path) const {
    std::string name = yaml.scalar(n, path);
    if (axis_named(name)) return name;
    std::vector<std::string> names;
    std::transform(out.axes_.begin(), out.axes_.end(), std::back_inserter(names), [](const study_axis& a) { return a.name; });
    yaml.fail(n, path, fmt::format("there is no axis '{}'; {}", name, suggestion(name, names, "axes")));
  }
  std::string metric_name(const YAML::Node& n, const std::string& path) const {
    std::string name = yaml.scalar(n, path);
    std::vector<std::string> names;
    std::transform(out.metrics_.begin(), out.metrics_.end(), std::back_inserter(names), [](const metric& m) { return m.name; });
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    yaml.fail(n, path, fmt::format("there is no metric '{}'; {}", name, suggestion(name, names, "metrics")));
  }
  void read_charts(const YAML::Node& n) {
    if (!n.IsSequence()) yaml.fail(n, "charts", "a list of charts is expected: - {line: METRIC, x: AXIS}");
    for (const auto& c : n) {
      yaml.check_keys(c, "charts", {"line", "heat", "stacked", "tornado", "x", "series", "y", "at", "title"});
      study_chart chart;
      int given = 0;
      for (const auto& [key, kind] : {std::pair{"line", chart_kind::line},
                                      {"heat", chart_kind::heat},
                                      {"stacked", chart_kind::stacked},
                                      {"tornado", chart_kind::tornado}}) {
        if (!c[key]) continue;
        ++given;
        chart.kind = kind;
        if (kind != chart_kind::heat && kind != chart_kind::tornado && c[key].IsSequence() && c[key].size() > 0) {
          for (const auto& m : c[key]) chart.metrics.push_back(metric_name(m, fmt::format("charts.{}", key)));
        } else if (kind == chart_kind::stacked) {
          yaml.fail(c[key], "charts.stacked", "a list of metrics is expected");
        } else {
          chart.metrics.push_back(metric_name(c[key], fmt::format("charts.{}", key)));
        }
      }
      if (given != 1) yaml.fail(c, "charts", "exactly one of line, heat, stacked or tornado is needed");
      if (chart.kind == chart_kind::tornado) {
        read_tornado_chart(c, chart);
        continue;
      }
      if (!c["x"]) yaml.fail(c, "charts.x", "which axis? add 'x: AXIS'");
      const bool derived = chart.kind == chart_kind::line && c["x"].IsScalar() && derived_named(c["x"].Scalar());
      chart.x = derived ? c["x"].Scalar() : axis(c["x"], "charts.x");
      if (c["y"] && chart.kind != chart_kind::heat)
        yaml.fail(c["y"], "charts.y", "only a heat map has a second axis; others have series");
      if (c["series"] && chart.kind == chart_kind::heat)
        yaml.fail(c["series"], "charts.series", "a heat map has y, not series");
      if (chart.kind == chart_kind::heat && !c["y"]) yaml.fail(c, "charts.y", "a heat map needs a second axis; add 'y: AXIS'");
      if (c["series"]) chart.series = axis(c["series"], "charts.series");
      if (c["y"]) chart.series = axis(c["y"], "charts.y");
      if (chart.metrics.size() > 1 && !chart.series.empty()) {
        yaml.fail(c["series"], "charts.series", "several metrics are a series of their own; name one metric, or no series");
      }
      if (chart.series == chart.x) yaml.fail(c, "charts", "x and the second axis are the same; choose another");
      if (c["at"]) read_place(c["at"], chart);
      chart.title = c["title"] ? yaml.scalar(c["title"], "charts.title") : out.question_;
      out.charts_.push_back(std::move(chart));
    }
  }
  void read_tornado_chart(const YAML::Node& c, study_chart& chart) {
    if (out.tornado_.arms.empty())
      yaml.fail(c["tornado"], "charts.tornado", "the study has no tornado; add 'tornado: {knobs: [...]}'");
    for (const char* key : {"x", "y", "series"}) {
      if (c[key]) yaml.fail(c[key], "charts.tornado", fmt::format("a tornado has its knobs along the side; remove {}", key));
    }
    chart.x = study_tornado::axis;
    if (c["at"]) read_place(c["at"], chart);
    chart.title = c["title"] ? yaml.scalar(c["title"], "charts.title") : out.question_;
    out.charts_.push_back(std::move(chart));
  }
  void read_place(const YAML::Node& n, study_chart& chart) const {
    if (!n.IsMap()) yaml.fail(n, "charts.at", "where the other axes stand is expected here: {AXIS: VALUE}");
    for (const auto& entry : n) {
      const std::string name = axis(entry.first, "charts.at");
      const std::string label = yaml.scalar(entry.second, "charts.at." + name);
      if (name == chart.x || name == chart.series)
        yaml.fail(entry.first, "charts.at." + name, "the chart runs along this axis; remove it here");
      std::vector<std::string> labels;
      for (const study_axis& a : out.axes_) {
        if (a.name != name) continue;
        std::transform(a.values.begin(), a.values.end(), std::back_inserter(labels),
                       [](const axis_value& v) { return v.label; });
      }
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
        yaml.fail(entry.second, "charts.at." + name,
                  fmt::format("the axis has no value '{}'; {}", label, suggestion(label, labels, "its values")));
      }
      chart.at.emplace_back(name, label);
    }
  }
  void default_chart() const {
    const auto first = std::find_if(out.metrics_.begin(), out.metrics_.end(), [](const metric& m) { return !m.derived; });
    if (!out.tornado_.arms.empty()) {
      out.charts_.push_back({chart_kind::tornado, out.question_, study_tornado::axis, "", {}, {first->name}});
      return;
    }
    const bool second = out.axes_.size() > 1 && !out.axes_[1].repeats;
    out.charts_.push_back(
        {chart_kind::line, out.question_, out.axes_[0].name, second ? out.axes_[1].name : "", {}, {first->name}});
  }
};

study::study(const fs::path& file, platform_factory machine) : file_(file), base_(search_path::standard()) {
  const YAML::Node root = read_yaml(file);
  text_ = YAML::Dump(root);
  reader{*this, machine}.read(root);
}

std::uint64_t study::points() const {
  std::uint64_t n = 1;
  for (const study_axis& a : axes_) {
    if (__builtin_mul_overflow(n, a.values.size(), &n)) return std::numeric_limits<std::uint64_t>::max();
  }
  return n;
}

std::vector<std::size_t> study::coordinates(std::uint64_t point) const {
  std::vector<std::size_t> at(axes_.size());
  std::uint64_t rest = point - 1;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    at[i] = static_cast<std::size_t>(rest % axes_[i].values.size());
    rest /= axes_[i].values.size();
  }
  return at;
}

description study::describe(std::uint64_t point) const {
  description d = base_;
  const auto at = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const auto& [path, text] : axes_[i].values[at[i]].settings) d.set(path, text, axes_[i].where);
  }
  return d;
}

nlohmann::ordered_json study::numbers(std::uint64_t point) const {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  const auto at = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) out[axes_[i].name] = axes_[i].values[at[i]].number;
  return out;
}

std::string study::fingerprint() const {
  const YAML::Node root = YAML::Load(text_);
  std::string out = YAML::Dump(root["base"]) + "\n";
  for (const study_axis& a : axes_) {
    out += a.name + ":";
    for (const axis_value& v : a.values) {
      for (const auto& [path, text] : v.settings) out += fmt::format(" {}={}", path, text);
      out += ";";
    }
    out += "\n";
  }
  if (what_if_) out += fmt::format("what_if: '{}'\n", *what_if_);
  return out;
}

bool is_study(const fs::path& file) {
  const YAML::Node root = read_yaml(file);
  return root.IsDefined() && root.IsMap() && (root["axes"].IsDefined() || root["tornado"].IsDefined());
}

}  // namespace hcasim
