#include "testbenches/runner/sweep/study.h"

#include <cmath>
#include <limits>
#include <set>

#include <yaml-cpp/yaml.h>

#include "testbenches/runner/names.h"
#include "testbenches/runner/prepare.h"
#include "testbenches/runner/quantity.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t max_values = 1'000'000;  // of one axis

bool is_preset(const std::string& key) {
  return key == "preset" || key.ends_with(".preset");
}
bool is_name(const std::string& s) {
  return !s.empty() &&
         std::all_of(s.begin(), s.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }) &&
         !std::isdigit(static_cast<unsigned char>(s[0]));
}
std::string_view base_unit(knob_kind kind) {
  switch (kind) {
    case knob_kind::time:
      return "ps";
    case knob_kind::bytes:
      return "B";
    case knob_kind::rate:
      return "b/s";
    case knob_kind::clock:
      return "Hz";
    case knob_kind::cycles:
      return "cycles";
    default:
      return "";
  }
}
bool has_numbers(knob_kind kind) {
  return kind != knob_kind::text && kind != knob_kind::choice && kind != knob_kind::flag;
}

}  // namespace

// Reads the file's sections; every key must be known.
struct study::reader {
  study& out;
  platform_factory machine;
  search_path search = search_path::standard();
  std::unique_ptr<prepared_run> scratch{};  // the base, for checking values
  std::set<std::string> varied{};           // keys that an axis sets

  [[nodiscard]] place at(const YAML::Node& n) const {
    const YAML::Mark m = n.Mark();
    return m.is_null() ? place{out.file_.string(), 0, 0} : place{out.file_.string(), m.line + 1, m.column + 1};
  }
  [[noreturn]] void fail(const YAML::Node& n, const std::string& key, const std::string& message) const {
    throw description_error(at(n), key, message);
  }
  std::string scalar(const YAML::Node& n, const std::string& key) const {
    if (!n.IsScalar()) fail(n, key, "one value is expected here");
    return n.Scalar();
  }
  // The keys of a map, each known and given once.
  void check_keys(const YAML::Node& map, const std::string& path, const std::vector<std::string>& valid) const {
    if (!map.IsMap())
      fail(map, path, fmt::format("'name: value' lines are expected here; keys are {}", fmt::join(valid, ", ")));
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string full = path.empty() ? key : path + "." + key;
      if (std::find(valid.begin(), valid.end(), key) == valid.end()) {
        fail(entry.first, full, fmt::format("unknown key '{}'; {}", key, suggestion(key, valid, "keys here")));
      }
      if (!seen.insert(key).second) fail(entry.first, full, "this key was given before; remove one of them");
    }
  }
  void check_name(const YAML::Node& n, const std::string& path, const std::string& name, std::set<std::string>& seen) const {
    if (!is_name(name)) fail(n, path, fmt::format("'{}' is not a name; use letters, digits and '_'", name));
    if (!seen.insert(name).second) fail(n, path, "this name was given before; choose another");
  }

  void read(const YAML::Node& root) {
    if (!root.IsDefined() || !root.IsMap()) {
      throw description_error({out.file_.string(), 0, 0}, "",
                              "a study is made of 'name: value' lines: study, base, axes, metrics");
    }
    check_keys(root, "", {"study", "question", "base", "axes", "metrics", "charts", "description"});
    out.name_ = root["study"] ? scalar(root["study"], "study") : out.file_.stem().string();
    if (root["question"]) out.question_ = scalar(root["question"], "question");
    if (!root["base"]) fail(root, "base", "the study has no base: the description that its axes vary");
    out.base_.read_node(root["base"], out.file_);
    if (!out.base_.testbench())
      fail(root["base"], "base.testbench", "the base names no testbench; add 'testbench: NAME' ('hcasim list')");
    scratch = std::make_unique<prepared_run>(*out.base_.testbench(), out.base_.testbench_place(), machine);
    description base = out.base_;
    scratch->apply(base);
    if (!root["axes"]) fail(root, "axes", "the study has no axes; 'hcasim run' runs one description");
    read_axes(root["axes"]);
    if (!root["metrics"]) fail(root, "metrics", "the study has no metrics: what is it about?");
    read_metrics(root["metrics"]);
    if (root["charts"]) read_charts(root["charts"]);
    if (out.charts_.empty()) default_chart();
  }

  void read_axes(const YAML::Node& axes) {
    if (!axes.IsMap() || axes.size() == 0)
      fail(axes, "axes", "an axis is 'name: {knob: PATH, values: [...]}'; at least one is needed");
    std::set<std::string> names;
    for (const auto& entry : axes) {
      const std::string name = entry.first.Scalar();
      const std::string path = "axes." + name;
      check_name(entry.first, path, name, names);
      study_axis a;
      a.name = a.title = name;
      a.where = at(entry.first);
      read_axis(entry.second, path, a);
      if (a.values.empty())
        fail(entry.second, path, "the axis has no values, so the study has no points; give it at least one");
      out.axes_.push_back(std::move(a));
    }
  }

  void read_axis(const YAML::Node& n, const std::string& path, study_axis& a) {
    check_keys(n, path, {"knob", "values", "range", "log", "presets", "zip", "labels", "title", "unit"});
    if (n["title"]) a.title = scalar(n["title"], path + ".title");
    std::vector<std::string> forms;
    for (const char* form : {"values", "range", "log", "presets", "zip"}) {
      if (n[form]) forms.emplace_back(form);
    }
    if (forms.size() != 1) {
      fail(n, path,
           forms.empty() ? "one of values, range, log, presets or zip is needed"
                         : fmt::format("{} and {} are given; keep one", forms[0], forms[1]));
    }
    const std::string& form = forms[0];
    if (form == "zip") {
      zip(n["zip"], path + ".zip", a);
    } else {
      if (form == "presets" && n["knob"]) fail(n["knob"], path + ".knob", "presets need no knob; remove it");
      if (form != "presets" && !n["knob"]) fail(n, path + ".knob", "which knob? add 'knob: PATH' ('hcasim params')");
      const std::string knob = form == "presets" ? "preset" : scalar(n["knob"], path + ".knob");
      const YAML::Node where = form == "presets" ? n[form] : n["knob"];
      for (axis_value& v : values_of(knob, where, n[form], form, path, &a)) a.values.push_back(std::move(v));
    }
    if (n["unit"]) a.unit = scalar(n["unit"], path + ".unit");
    if (n["labels"]) {
      const YAML::Node l = n["labels"];
      if (!l.IsSequence() || l.size() != a.values.size()) {
        fail(l, path + ".labels", fmt::format("a list of {} labels is expected, one for each value", a.values.size()));
      }
      for (std::size_t i = 0; i < l.size(); ++i) {
        a.values[i].label = scalar(l[i], path + ".labels");
        char* end = nullptr;
        const double v = std::strtod(a.values[i].label.c_str(), &end);
        a.values[i].number = *end == 0 && end != a.values[i].label.c_str() ? ordered_json(v) : ordered_json();
      }
    }
    std::set<std::string> labels;
    for (const axis_value& v : a.values) {
      if (!labels.insert(v.label).second) fail(n, path, fmt::format("the value {} is given twice; remove one", v.label));
    }
  }

  // Several knobs that change together, value by value.
  void zip(const YAML::Node& n, const std::string& path, study_axis& a) {
    if (!n.IsMap() || n.size() < 2) fail(n, path, "zip is made of at least two lines 'PATH: [values]', all of one length");
    for (const auto& entry : n) {
      const std::string knob = scalar(entry.first, path);
      const bool list = entry.second.IsSequence();
      if (!list && !entry.second.IsMap())
        fail(entry.second, path + "." + knob, "a list of values, {range: ...} or {log: ...} is expected");
      std::string form = "values";
      YAML::Node values = entry.second;
      if (!list) {
        check_keys(entry.second, path + "." + knob, {"range", "log"});
        form = entry.second["log"] ? "log" : "range";
        values = entry.second[form];
      }
      std::vector<axis_value> column = values_of(knob, entry.first, values, form, path, nullptr);
      if (!a.values.empty() && column.size() != a.values.size()) {
        fail(entry.second, path + "." + knob,
             fmt::format("{} values, but the lines above have {}; make them equal", column.size(), a.values.size()));
      }
      if (a.values.empty()) {
        a.values = std::move(column);
        continue;
      }
      for (std::size_t i = 0; i < column.size(); ++i) {
        a.values[i].label += " / " + column[i].label;
        a.values[i].number = nullptr;
        a.values[i].settings.push_back(column[i].settings[0]);
      }
    }
  }

  std::vector<axis_value> values_of(const std::string& knob, const YAML::Node& where, const YAML::Node& n,
                                    const std::string& form, const std::string& path, study_axis* a) {
    if (!varied.insert(knob).second) fail(where, path, fmt::format("{} is varied by two axes; remove one", knob));
    if (knob == "testbench" || knob == "include")
      fail(where, path, fmt::format("'{}' cannot be varied; write one study for each", knob));
    std::vector<axis_value> out_values;
    if (is_preset(knob)) {
      if (form == "range" || form == "log") fail(n, path, "presets are names; list them");
      for (const std::string& text : list(n, path)) out_values.push_back({text, nullptr, {{knob, text}}});
      check_presets(n, path, out_values);
      return out_values;
    }
    knob_kind kind = knob_kind::count;
    if (knob != "seed") kind = scratch->tree().first(knob, at(where)).kind;
    if (a) a->unit = base_unit(kind);
    if (a) a->logarithmic = form == "log";
    if (form == "values") {
      for (const std::string& text : list(n, path)) out_values.push_back({text, nullptr, {{knob, text}}});
    } else {
      if (!has_numbers(kind)) fail(n, path, fmt::format("{} has no order; list its values", knob));
      for (const long double v : form == "log" ? logarithmic(n, path, kind) : linear(n, path, kind)) {
        const std::string text = format_quantity(kind, v);
        out_values.push_back({text, nullptr, {{knob, text}}});
      }
    }
    for (std::size_t i = 0; i < out_values.size(); ++i) {
      axis_value& v = out_values[i];
      const place p = form == "values" && n.IsSequence() ? at(n[i]) : at(n);
      check_value(knob, v.label, p);
      if (has_numbers(kind)) v.number = static_cast<double>(parse_quantity(kind, v.label));
      if (knob == "nodes") scratch->tree().rebuild();
    }
    return out_values;
  }

  void check_value(const std::string& knob, const std::string& text, const place& p) {
    if (knob == "seed") {
      description(search).set(knob, text, p);
    } else {
      scratch->tree().set(knob, text, p);
    }
  }
  void check_presets(const YAML::Node& n, const std::string& path, const std::vector<axis_value>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = values[i].label;
      if (!search.find(name, out.file_.parent_path())) {
        fail(n[i], path, fmt::format("there is no preset '{}'; {}", name, suggestion(name, search.names(), "known names")));
      }
    }
  }

  std::vector<std::string> list(const YAML::Node& n, const std::string& path) const {
    if (!n.IsSequence()) fail(n, path, "a list is expected here: [a, b, c]");
    std::vector<std::string> out_list;
    for (const auto& v : n) out_list.push_back(scalar(v, path));
    return out_list;
  }
  long double quantity(const YAML::Node& n, const std::string& path, knob_kind kind) const {
    try {
      return parse_quantity(kind, scalar(n, path));
    } catch (const quantity_error& e) {
      fail(n, path, e.what());
    }
  }
  void ends(const YAML::Node& n, const std::string& path, const char* third) const {
    check_keys(n, path, {"from", "to", third});
    for (const char* key : {"from", "to", third}) {
      if (!n[key]) fail(n, path, fmt::format("'{}' is missing; write {{from: A, to: B, {}: C}}", key, third));
    }
  }
  // from, from + step, ... up to `to`.
  std::vector<long double> linear(const YAML::Node& n, const std::string& path, knob_kind kind) const {
    ends(n, path, "step");
    const long double from = quantity(n["from"], path + ".from", kind);
    const long double to = quantity(n["to"], path + ".to", kind);
    const long double step = quantity(n["step"], path + ".step", kind);
    if (!(step > 0) || to < from) fail(n, path, "the range is empty; 'to' must not be below 'from', and 'step' above 0");
    const long double steps = std::floor((to - from) / step + 1e-9L);
    if (steps >= max_values) fail(n, path, "the axis has more than a million values; make the step larger");
    std::vector<long double> v;
    for (long double i = 0; i <= steps; ++i) v.push_back(from + i * step);
    return v;
  }
  // from, from * factor, ... up to `to`, whole where the knob is.
  std::vector<long double> logarithmic(const YAML::Node& n, const std::string& path, knob_kind kind) const {
    ends(n, path, "factor");
    const long double from = quantity(n["from"], path + ".from", kind);
    const long double to = quantity(n["to"], path + ".to", kind);
    const long double factor = quantity(n["factor"], path + ".factor", knob_kind::ratio);
    if (!(from > 0) || to < from || !(factor > 1)) {
      fail(n, path, "the range is empty; 'from' must be above 0, 'to' not below it, and 'factor' above 1");
    }
    if (std::log(to / from) / std::log(factor) >= max_values)
      fail(n, path, "the axis has more than a million values; make the factor larger");
    const bool whole = kind == knob_kind::count || kind == knob_kind::bytes || kind == knob_kind::time;
    std::vector<long double> v;
    for (long double x = from; x <= to * (1 + 1e-9L); x *= factor) {
      const long double value = whole ? std::round(x) : x;
      if (v.empty() || value > v.back()) v.push_back(value);
    }
    return v;
  }

  void read_metrics(const YAML::Node& n) {
    if (!n.IsMap() || n.size() == 0) fail(n, "metrics", "a metric is 'name: {figure: NAME}'; at least one is needed");
    std::set<std::string> names;
    std::map<std::string, std::optional<double>> above;
    for (const auto& entry : n) {
      metric m;
      m.name = entry.first.Scalar();
      const std::string path = "metrics." + m.name;
      check_name(entry.first, path, m.name, names);
      if (m.name == "id" || m.name == "status" || axis_named(m.name))
        fail(entry.first, path, "the name is taken; choose another");
      m.where = at(entry.first);
      read_metric(entry.second, path, m);
      if (m.source == metric_source::formula) {
        try {
          evaluate(m.what, above);
        } catch (const std::runtime_error& e) {
          fail(entry.second, path, fmt::format("'{}': {}", m.what, e.what()));
        }
      }
      above[m.name] = 1.0;
      out.metrics_.push_back(std::move(m));
    }
  }
  void read_metric(const YAML::Node& n, const std::string& path, metric& m) const {
    check_keys(n, path, {"figure", "statistic", "row", "column", "table", "resource", "formula", "of", "unit", "title"});
    const auto text = [&](const char* key) { return n[key] ? scalar(n[key], path + "." + key) : std::string(); };
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
    take("formula", metric_source::formula);
    if (given != 1) fail(n, path, "exactly one of figure, statistic, column (with row), resource or formula is needed");
    if ((m.source == metric_source::table_cell) != !m.row.empty()) fail(n, path, "row and column go together");
    if (!m.of.empty() && m.source != metric_source::statistic)
      fail(n["of"], path + ".of", "only a statistic has several values");
  }

  [[nodiscard]] bool axis_named(const std::string& name) const {
    return std::any_of(out.axes_.begin(), out.axes_.end(), [&](const study_axis& a) { return a.name == name; });
  }
  std::string axis(const YAML::Node& n, const std::string& path) const {
    const std::string name = scalar(n, path);
    if (axis_named(name)) return name;
    std::vector<std::string> names;
    for (const study_axis& a : out.axes_) names.push_back(a.name);
    fail(n, path, fmt::format("there is no axis '{}'; {}", name, suggestion(name, names, "axes")));
  }
  std::string metric_name(const YAML::Node& n, const std::string& path) const {
    const std::string name = scalar(n, path);
    std::vector<std::string> names;
    for (const metric& m : out.metrics_) names.push_back(m.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    fail(n, path, fmt::format("there is no metric '{}'; {}", name, suggestion(name, names, "metrics")));
  }
  void read_charts(const YAML::Node& n) {
    if (!n.IsSequence()) fail(n, "charts", "a list of charts is expected: - {line: METRIC, x: AXIS}");
    for (const auto& c : n) {
      check_keys(c, "charts", {"line", "heat", "stacked", "x", "series", "y", "title"});
      study_chart chart;
      int given = 0;
      for (const auto& [key, kind] :
           {std::pair{"line", chart_kind::line}, {"heat", chart_kind::heat}, {"stacked", chart_kind::stacked}}) {
        if (!c[key]) continue;
        ++given;
        chart.kind = kind;
        if (kind == chart_kind::stacked) {
          if (!c[key].IsSequence() || c[key].size() == 0) fail(c[key], "charts.stacked", "a list of metrics is expected");
          for (const auto& m : c[key]) chart.metrics.push_back(metric_name(m, "charts.stacked"));
        } else {
          chart.metrics.push_back(metric_name(c[key], fmt::format("charts.{}", key)));
        }
      }
      if (given != 1) fail(c, "charts", "exactly one of line, heat or stacked is needed");
      if (!c["x"]) fail(c, "charts.x", "which axis? add 'x: AXIS'");
      chart.x = axis(c["x"], "charts.x");
      if (c["y"] && chart.kind != chart_kind::heat)
        fail(c["y"], "charts.y", "only a heat map has a second axis; others have series");
      if (c["series"] && chart.kind == chart_kind::heat) fail(c["series"], "charts.series", "a heat map has y, not series");
      if (chart.kind == chart_kind::heat && !c["y"]) fail(c, "charts.y", "a heat map needs a second axis; add 'y: AXIS'");
      if (c["series"]) chart.series = axis(c["series"], "charts.series");
      if (c["y"]) chart.series = axis(c["y"], "charts.y");
      if (chart.series == chart.x) fail(c, "charts", "x and the second axis are the same; choose another");
      chart.title = c["title"] ? scalar(c["title"], "charts.title") : out.question_;
      out.charts_.push_back(std::move(chart));
    }
  }
  void default_chart() const {
    const std::string series = out.axes_.size() > 1 ? out.axes_[1].name : "";
    out.charts_.push_back({chart_kind::line, out.question_, out.axes_[0].name, series, {out.metrics_[0].name}});
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
  return out;
}

bool is_study(const fs::path& file) {
  const YAML::Node root = read_yaml(file);
  return root.IsDefined() && root.IsMap() && root["axes"].IsDefined();
}

}  // namespace hcasim
