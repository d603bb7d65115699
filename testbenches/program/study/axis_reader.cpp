#include "testbenches/program/study/axis_reader.h"

#include <cmath>
#include <cstdlib>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t max_values = 1'000'000;  // values of one axis

bool is_preset(const std::string& key) {
  return key == "preset" || key.ends_with(".preset");
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
  return kind != knob_kind::text && kind != knob_kind::path && kind != knob_kind::choice && kind != knob_kind::flag;
}

}  // namespace

void axis_reader::read_axis(const YAML::Node& n, const std::string& path, study_axis& a) {
  yaml_.check_keys(n, path,
                   {"knob", "values", "range", "log", "presets", "zip", "sample", "over", "seeds", "labels", "title", "unit"});
  if (n["title"]) a.title = yaml_.scalar(n["title"], path + ".title");
  std::vector<std::string> forms;
  for (const char* form : {"values", "range", "log", "presets", "zip", "sample", "seeds"}) {
    if (n[form]) forms.emplace_back(form);
  }
  if (forms.size() != 1) {
    yaml_.fail(n, path,
               forms.empty() ? "one of values, range, log, presets, zip, sample, seeds or formula is needed"
                             : fmt::format("{} and {} are given; keep one", forms[0], forms[1]));
  }
  const std::string& form = forms[0];
  if (n["over"] && form != "sample")
    yaml_.fail(n["over"], path + ".over", "only a sample is taken over ranges; add 'sample: {latin: N}'");
  for (const char* fixed : {"zip", "sample", "seeds"}) {
    if (form == fixed && n["knob"])
      yaml_.fail(n["knob"], path + ".knob", fmt::format("{} names its knobs itself; remove this one", form));
  }
  if (form == "zip") {
    zip(n["zip"], path + ".zip", a);
  } else if (form == "sample") {
    sample(n, path, a);
  } else if (form == "seeds") {
    seeds(n["seeds"], path + ".seeds", a);
  } else {
    if (form == "presets" && n["knob"]) yaml_.fail(n["knob"], path + ".knob", "presets need no knob; remove it");
    if (form != "presets" && !n["knob"]) yaml_.fail(n, path + ".knob", "which knob? add 'knob: PATH' ('hcasim params')");
    const std::string knob = form == "presets" ? "preset" : yaml_.scalar(n["knob"], path + ".knob");
    const YAML::Node where = form == "presets" ? n[form] : n["knob"];
    for (axis_value& v : values_of(knob, where, n[form], form, path, &a)) a.values.push_back(std::move(v));
  }
  if (n["unit"]) a.unit = yaml_.scalar(n["unit"], path + ".unit");
  if (n["labels"]) {
    const YAML::Node l = n["labels"];
    if (!l.IsSequence() || l.size() != a.values.size()) {
      yaml_.fail(l, path + ".labels", fmt::format("a list of {} labels is expected, one for each value", a.values.size()));
    }
    for (std::size_t i = 0; i < l.size(); ++i) {
      a.values[i].label = yaml_.scalar(l[i], path + ".labels");
      char* end = nullptr;
      const double v = std::strtod(a.values[i].label.c_str(), &end);
      a.values[i].number = *end == 0 && end != a.values[i].label.c_str() ? ordered_json(v) : ordered_json();
    }
  }
  std::set<std::string> labels;
  for (const axis_value& v : a.values) {
    if (!labels.insert(v.label).second) yaml_.fail(n, path, fmt::format("the value {} is given twice; remove one", v.label));
  }
}

// Several knobs that change together, value by value.
void axis_reader::zip(const YAML::Node& n, const std::string& path, study_axis& a) {
  if (!n.IsMap() || n.size() < 2) yaml_.fail(n, path, "zip is made of at least two lines 'PATH: [values]', all of one length");
  for (const auto& entry : n) {
    const std::string knob = yaml_.scalar(entry.first, path);
    const std::string full = fmt::format("{}.{}", path, knob);
    const bool list = entry.second.IsSequence();
    if (!list && !entry.second.IsMap())
      yaml_.fail(entry.second, full, "a list of values, {range: ...} or {log: ...} is expected");
    std::string form = "values";
    YAML::Node values = entry.second;
    if (!list) {
      yaml_.check_keys(entry.second, full, {"range", "log"});
      form = entry.second["log"] ? "log" : "range";
      values = entry.second[form];
    }
    std::vector<axis_value> column = values_of(knob, entry.first, values, form, path, nullptr);
    if (!a.values.empty() && column.size() != a.values.size()) {
      yaml_.fail(entry.second, full,
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

std::vector<axis_value> axis_reader::values_of(const std::string& knob, const YAML::Node& where, const YAML::Node& n,
                                               const std::string& form, const std::string& path, study_axis* a) {
  if (!varied_.insert(knob).second) yaml_.fail(where, path, fmt::format("{} is varied by two axes; remove one", knob));
  if (knob == "testbench" || knob == "include")
    yaml_.fail(where, path, fmt::format("'{}' cannot be varied; write one study for each", knob));
  std::vector<axis_value> out_values;
  if (is_preset(knob)) {
    if (form == "range" || form == "log") yaml_.fail(n, path, "presets are names; list them");
    for (const std::string& text : yaml_.list(n, path)) out_values.push_back({text, nullptr, {{knob, text}}});
    check_presets(n, path, out_values);
    return out_values;
  }
  knob_kind kind = knob_kind::count;
  if (knob != "seed") kind = base_.tree().first(knob, yaml_.at(where)).kind;
  if (a) a->unit = base_unit(kind);
  if (a) a->logarithmic = form == "log";
  if (form == "values") {
    for (const std::string& text : yaml_.list(n, path)) out_values.push_back({text, nullptr, {{knob, text}}});
  } else {
    if (!has_numbers(kind)) yaml_.fail(n, path, fmt::format("{} has no order; list its values", knob));
    for (const long double v : form == "log" ? logarithmic(n, path, kind) : linear(n, path, kind)) {
      const std::string text = format_quantity(kind, v);
      out_values.push_back({text, nullptr, {{knob, text}}});
    }
  }
  for (std::size_t i = 0; i < out_values.size(); ++i) {
    axis_value& v = out_values[i];
    const place p = form == "values" && n.IsSequence() ? yaml_.at(n[i]) : yaml_.at(n);
    check_value(knob, v.label, p);
    if (has_numbers(kind)) v.number = static_cast<double>(parse_quantity(kind, v.label));
    if (knob == "nodes") base_.tree().rebuild();
  }
  return out_values;
}

void axis_reader::check_value(const std::string& knob, const std::string& text, const place& p) {
  if (knob == "seed") {
    description(search_).set(knob, text, p);
  } else {
    base_.tree().set(knob, text, p);
  }
}
void axis_reader::check_presets(const YAML::Node& n, const std::string& path, const std::vector<axis_value>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = values[i].label;
    if (!search_.find(name, yaml_.file().parent_path())) {
      yaml_.fail(n[i], path, fmt::format("there is no preset '{}'; {}", name, search_.nearest(name)));
    }
  }
}

long double axis_reader::quantity(const YAML::Node& n, const std::string& path, knob_kind kind) const {
  try {
    return parse_quantity(kind, yaml_.scalar(n, path));
  } catch (const quantity_error& e) {
    yaml_.fail(n, path, e.what());
  }
}
void axis_reader::ends(const YAML::Node& n, const std::string& path, const char* third) const {
  yaml_.check_keys(n, path, {"from", "to", third});
  for (const char* key : {"from", "to", third}) {
    if (!n[key]) yaml_.fail(n, path, fmt::format("'{}' is missing; write {{from: A, to: B, {}: C}}", key, third));
  }
}
// from, from + step, ... up to `to`.
std::vector<long double> axis_reader::linear(const YAML::Node& n, const std::string& path, knob_kind kind) const {
  ends(n, path, "step");
  const long double from = quantity(n["from"], path + ".from", kind);
  const long double to = quantity(n["to"], path + ".to", kind);
  const long double step = quantity(n["step"], path + ".step", kind);
  if (!(step > 0) || to < from) yaml_.fail(n, path, "the range is empty; 'to' must not be below 'from', and 'step' above 0");
  const long double steps = std::floor((to - from) / step + 1e-9L);
  if (steps >= max_values) yaml_.fail(n, path, "the axis has more than a million values; make the step larger");
  std::vector<long double> v;
  for (long double i = 0; i <= steps; ++i) v.push_back(from + i * step);
  return v;
}
// from, from * factor, ... up to `to`, whole where the knob is.
std::vector<long double> axis_reader::logarithmic(const YAML::Node& n, const std::string& path, knob_kind kind) const {
  ends(n, path, "factor");
  const long double from = quantity(n["from"], path + ".from", kind);
  const long double to = quantity(n["to"], path + ".to", kind);
  const long double factor = quantity(n["factor"], path + ".factor", knob_kind::ratio);
  if (!(from > 0) || to < from || !(factor > 1)) {
    yaml_.fail(n, path, "the range is empty; 'from' must be above 0, 'to' not below it, and 'factor' above 1");
  }
  if (std::log(to / from) / std::log(factor) >= max_values)
    yaml_.fail(n, path, "the axis has more than a million values; make the factor larger");
  const bool whole = kind == knob_kind::count || kind == knob_kind::bytes || kind == knob_kind::time;
  std::vector<long double> v;
  for (long double x = from; x <= to * (1 + 1e-9L); x *= factor) {
    const long double value = whole ? std::round(x) : x;
    if (v.empty() || value > v.back()) v.push_back(value);
  }
  return v;
}

}  // namespace hcasim
