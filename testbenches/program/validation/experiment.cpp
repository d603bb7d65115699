#include "testbenches/program/validation/experiment.h"

#include <cmath>
#include <iterator>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/study/metrics.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

bool given(const YAML::Node& n) {
  return n.IsDefined() && !n.IsNull();
}

// Returns the entry of a map; a null node = there is none.
YAML::Node entry_of(const YAML::Node& map, const char* key) {
  return given(map[key]) ? YAML::Clone(map[key]) : YAML::Node();
}

// Returns the two maps as one; `over` wins where both have a value.
YAML::Node merged(const YAML::Node& under, const YAML::Node& over) {
  if (!given(under) || !under.IsMap() || !given(over) || !over.IsMap()) return YAML::Clone(given(over) ? over : under);
  YAML::Node out = YAML::Clone(under);
  for (const auto& entry : over) {
    const std::string key = entry.first.Scalar();
    out[key] = out[key].IsDefined() ? merged(out[key], entry.second) : YAML::Clone(entry.second);
  }
  return out;
}

std::regex pattern_of(const strict_yaml& yaml, const YAML::Node& n, const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& e) {
    yaml.fail(n, "match",
              fmt::format("'{}' is no regular expression ({}); a part of the series' name is enough", text, e.what()));
  }
}

}  // namespace

std::string short_number(double v) {
  const double whole = std::round(v);
  if (std::fabs(v - whole) < 1e-9 * std::max(1.0, std::fabs(v))) return fmt::format("{:.0f}", whole);
  return fmt::format("{:.9g}", v);
}

std::string with_values(const std::string& text, double x) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find('{', at);
    out += text.substr(at, open - at);
    if (open == std::string::npos) return out;
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) throw std::runtime_error("a '}' is missing");
    const auto v = evaluate(text.substr(open + 1, close - open - 1), {{"x", x}});
    if (!v) throw std::runtime_error("the formula has no value");
    out += short_number(*v);
    at = close + 1;
  }
}

experiment::experiment(const fs::path& file) : yaml_(file) {
  const YAML::Node root = read_yaml(file);
  if (!root.IsDefined() || !root.IsMap())
    throw description_error({file.string(), 0, 0}, "", "an experiment is made of 'name: value' lines: experiment, series");
  yaml_.check_keys(
      root, "",
      {"experiment", "title", "source", "preset", "unit", "base", "tolerance", "assumed", "lacks", "series", "checks"});
  const auto text = [&](const char* key) { return root[key] ? yaml_.scalar(root[key], key) : std::string(); };
  name_ = root["experiment"] ? text("experiment") : file.stem().string();
  title_ = text("title");
  source_ = text("source");
  preset_ = text("preset");
  unit_ = text("unit");
  lacks_ = text("lacks");
  if (root["assumed"]) assumed_ = yaml_.list(root["assumed"], "assumed");
  if (root["tolerance"]) limits_ = read_tolerance(root["tolerance"]);
  base_ = entry_of(root, "base");
  if (!root["series"] || !root["series"].IsSequence() || root["series"].size() == 0)
    yaml_.fail(root, "series", "the experiment replays nothing; add a list: - {match: NAME, set: {...}, value: {...}}");
  for (const auto& s : root["series"]) read_series(s);
  if (!root["checks"]) return;
  if (!root["checks"].IsSequence())
    yaml_.fail(root["checks"], "checks", "a list of checks is expected: - {ratio: SERIES, ...}");
  for (const auto& c : root["checks"]) read_check(c);
}

double experiment::number(const YAML::Node& n, const std::string& key) const {
  try {
    return n.as<double>();
  } catch (const YAML::Exception&) {
    yaml_.fail(n, key, "a number is expected here");
  }
}

tolerance experiment::read_tolerance(const YAML::Node& n) const {
  yaml_.check_keys(n, "tolerance", {"mape", "worst", "knee", "asymptote"});
  tolerance t;
  const auto read = [&](const char* key, std::optional<double>& to) {
    if (n[key]) to = number(n[key], fmt::format("tolerance.{}", key));
  };
  read("mape", t.mape);
  read("worst", t.worst);
  read("knee", t.knee);
  read("asymptote", t.asymptote);
  return t;
}

void experiment::read_series(const YAML::Node& n) {
  yaml_.check_keys(n, "series",
                   {"match", "preset", "unit", "base", "set", "best_over", "metrics", "value", "tolerance", "not_expressible"});
  if (!n["match"]) yaml_.fail(n, "series.match", "which series? add 'match: NAME', a part of the name or a regular expression");
  replayed_series s;
  const auto text = [&](const char* key, const std::string& otherwise) {
    return n[key] ? yaml_.scalar(n[key], fmt::format("series.{}", key)) : otherwise;
  };
  s.pattern = text("match", "");
  s.match = pattern_of(yaml_, n["match"], s.pattern);
  s.preset = text("preset", preset_);
  s.unit = text("unit", unit_);
  s.not_expressible = text("not_expressible", "");
  if (n["tolerance"]) s.own = read_tolerance(n["tolerance"]);
  s.base = merged(base_, entry_of(n, "base"));
  s.set = entry_of(n, "set");
  s.best_over = entry_of(n, "best_over");
  s.metrics = entry_of(n, "metrics");
  s.value = entry_of(n, "value");
  series_.push_back(s);
  if (!s.not_expressible.empty()) return;
  if (!find_unit(s.unit)) {
    const auto known = known_units();
    yaml_.fail(n["unit"] ? n["unit"] : n, "series.unit",
               fmt::format("the unit '{}' is not known; {}", s.unit, suggestion(s.unit, known, "known units")));
  }
  if (!s.set.IsMap() || s.set.size() == 0) yaml_.fail(n, "series.set", "no knob follows x; add 'set: {PATH: \"{x} B\"}'");
  if (!s.value.IsDefined())
    yaml_.fail(n, "series.value", "the series has no value; add for example 'value: {figure: goodput}'");
}

void experiment::read_check(const YAML::Node& n) {
  constexpr std::pair<const char*, shape_check::kind> kinds[] = {{"ratio", shape_check::kind::ratio},
                                                                 {"step", shape_check::kind::step},
                                                                 {"turns", shape_check::kind::turns},
                                                                 {"above", shape_check::kind::above},
                                                                 {"flat", shape_check::kind::flat}};
  yaml_.check_keys(n, "checks",
                   {"ratio", "step", "turns", "above", "flat", "from", "to", "near", "within", "least", "at", "below"});
  shape_check c;
  int given = 0;
  for (const auto& [key, kind] : kinds) {
    if (!n[key]) continue;
    ++given;
    c.of = kind;
    c.series = yaml_.scalar(n[key], fmt::format("checks.{}", key));
  }
  if (given != 1) yaml_.fail(n, "checks", "exactly one of ratio, step, turns, above or flat is needed");
  const bool two = c.of == shape_check::kind::ratio || c.of == shape_check::kind::step;
  if (two && (!n["from"] || !n["to"])) yaml_.fail(n, "checks", "between which x? add 'from: X, to: X'");
  if (two) {
    c.from = number(n["from"], "checks.from");
    c.to = number(n["to"], "checks.to");
  }
  if (n["near"]) c.wanted = number(n["near"], "checks.near");
  if (n["within"]) c.within = number(n["within"], "checks.within");
  if (n["least"]) c.least = number(n["least"], "checks.least");
  if (c.of == shape_check::kind::above && !n["below"]) yaml_.fail(n, "checks.below", "above which series? add 'below: NAME'");
  if (n["below"]) c.other = yaml_.scalar(n["below"], "checks.below");
  if (c.of == shape_check::kind::turns) {
    if (!n["at"] || !n["at"].IsSequence()) yaml_.fail(n, "checks.at", "where? add 'at: [[64, 65], ...]'");
    for (const auto& p : n["at"]) {
      if (!p.IsSequence() || p.size() != 2) yaml_.fail(p, "checks.at", "two values of x are expected: [64, 65]");
      c.pairs.emplace_back(number(p[0], "checks.at"), number(p[1], "checks.at"));
    }
  }
  checks_.push_back(std::move(c));
}

const replayed_series& experiment::replay_of(const published_point& p) const {
  const replayed_series* found = nullptr;
  std::vector<std::string> names;
  for (const replayed_series& s : series_) {
    names.push_back(s.pattern);
    if (!found && std::regex_search(p.series, s.match)) found = &s;
  }
  if (!found) {
    throw description_error(p.where, "series",
                            fmt::format("{} replays no series '{}'; its series match '{}'; add the series to '{}'", name_,
                                        p.series, fmt::join(names, "', '"), file().string()));
  }
  if (!found->not_expressible.empty()) return *found;
  if (find_unit(p.unit)->of != find_unit(found->unit)->of)
    throw description_error(
        p.where, "unit",
        fmt::format("'{}' is another kind of unit than '{}', in which {} gives this series; correct one of them", p.unit,
                    found->unit, file().string()));
  return *found;
}

std::string experiment::value_at(const YAML::Node& n, double x, const std::string& key) const {
  try {
    if (!n.IsSequence()) return with_values(yaml_.scalar(n, key), x);
    for (const auto& part : n) {
      yaml_.check_keys(part, key, {"up_to", "value"});
      if (!part["value"]) yaml_.fail(part, key, "the part has no value; add 'value: TEXT'");
      if (!part["up_to"] || x <= number(part["up_to"], key)) return with_values(yaml_.scalar(part["value"], key), x);
    }
  } catch (const std::runtime_error& e) {
    if (dynamic_cast<const input_error*>(&e)) throw;
    yaml_.fail(n, key, e.what());
  }
  yaml_.fail(n, key, fmt::format("no part is for x = {}; leave 'up_to' out in the last one", short_number(x)));
}

std::string experiment::study_text(const replayed_series& s, const std::vector<const published_point*>& points,
                                   const std::string& preset) const {
  YAML::Node study;
  study["study"] = name_;
  study["question"] = fmt::format("{}: {}", title_, points.front()->series);
  study["base"] = YAML::Clone(s.base);
  if (!preset.empty()) study["base"]["preset"] = preset;
  YAML::Node axis;
  YAML::Node columns;
  for (const auto& entry : s.set) {
    const std::string knob = entry.first.Scalar();
    YAML::Node values;
    for (const published_point* p : points) values.push_back(value_at(entry.second, p->x, fmt::format("series.set.{}", knob)));
    columns[knob] = values;
  }
  if (columns.size() == 1) {
    axis["knob"] = columns.begin()->first;
    axis["values"] = columns.begin()->second;
  } else {
    axis["zip"] = columns;
  }
  for (const published_point* p : points) axis["labels"].push_back(short_number(p->x));
  axis["title"] = points.front()->x_name;
  study["axes"]["x"] = axis;
  if (!s.best_over.IsNull()) {
    yaml_.check_keys(s.best_over, "series.best_over", {"knob", "values", "zip", "labels"});
    study["axes"]["choice"] = YAML::Clone(s.best_over);
  }
  if (!s.metrics.IsNull()) study["metrics"] = YAML::Clone(s.metrics);
  study["metrics"]["value"] = YAML::Clone(s.value);
  return YAML::Dump(study) + "\n";
}

}  // namespace hcasim
