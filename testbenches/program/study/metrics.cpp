#include "testbenches/program/study/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;
using known_values = std::map<std::string, std::optional<double>>;

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Recursive descent; a missing operand or a division by zero makes the whole value missing.
class expression {
 public:
  expression(std::string_view text, const known_values& names) : text_(text), names_(names) {}

  std::optional<double> value() {
    const auto v = sum();
    if (skip_blanks(); at_ != text_.size()) fail(fmt::format("'{}' is not expected", text_.substr(at_)));
    return v && std::isfinite(*v) ? v : std::nullopt;
  }

 private:
  using number = std::optional<double>;

  [[noreturn]] static void fail(const std::string& why) { throw std::runtime_error(why); }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(fmt::format("'{}' is missing", c));
  }
  template <class F>
  static number both(const number& a, const number& b, F f) {
    return a && b ? number(f(*a, *b)) : std::nullopt;
  }

  number sum() {
    number v = product();
    for (;;) {
      if (take('+')) {
        v = both(v, product(), [](double a, double b) { return a + b; });
      } else if (take('-')) {
        v = both(v, product(), [](double a, double b) { return a - b; });
      } else {
        return v;
      }
    }
  }
  number product() {
    number v = factor();
    for (;;) {
      if (take('*')) {
        v = both(v, factor(), [](double a, double b) { return a * b; });
      } else if (take('/')) {
        v = both(v, factor(), [](double a, double b) { return b == 0 ? NAN : a / b; });
      } else {
        return v;
      }
    }
  }
  number factor() {
    if (++depth_ > 100) fail("it is nested too deeply");
    const number v = operand();
    --depth_;
    return v;
  }
  number operand() {
    if (take('(')) {
      const number v = sum();
      need(')');
      return v;
    }
    if (take('-')) return both(0.0, factor(), [](double a, double b) { return a - b; });
    skip_blanks();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.')) {
      double v = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
      if (error != std::errc{}) fail(fmt::format("'{}' is not a number", text_.substr(at_)));
      at_ = static_cast<std::size_t>(end - text_.data());
      return v;
    }
    const std::string name = word();
    if ((name == "min" || name == "max") && take('(')) {
      const number a = sum();
      need(',');
      const number b = sum();
      need(')');
      return both(a, b, [&](double x, double y) { return name == "min" ? std::min(x, y) : std::max(x, y); });
    }
    const auto known = names_.find(name);
    if (known == names_.end()) {
      std::vector<std::string> names;
      for (const auto& [n, v] : names_) names.push_back(n);
      fail(fmt::format("there is no metric '{}' above this one, and no axis with numbers; {}", name,
                       suggestion(name, names, "known names")));
    }
    return known->second;
  }
  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    if (begin == at_) fail(at_ == text_.size() ? "it ends too early" : fmt::format("'{}' is not expected", text_.substr(at_)));
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  const known_values& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::vector<std::string> keys(const ordered_json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

[[noreturn]] void missing(const metric& m, std::string_view what, const std::string& name,
                          const std::vector<std::string>& valid, std::string_view kind) {
  throw metric_error(m.where, "metrics." + m.name,
                     fmt::format("the run has no {} '{}'; {}", what, name, suggestion(name, valid, kind)));
}

std::string_view node_of_unit(std::string_view unit) {
  return unit.substr(0, unit.find('.'));
}

// Returns whether the unit is of a node that a machine with these units does not have: points may have fewer nodes than others.
bool of_absent_node(std::string_view unit, const std::vector<std::string>& units) {
  constexpr std::string_view prefix = "node";
  const std::string_view node = node_of_unit(unit);
  if (!node.starts_with(prefix) || node.size() == prefix.size() ||
      node.find_first_not_of("0123456789", prefix.size()) != std::string_view::npos) {
    return false;
  }
  return std::none_of(units.begin(), units.end(), [&](const std::string& u) { return node_of_unit(u) == node; });
}

ordered_json statistic_value(const metric& m, const ordered_json& statistics) {
  const std::size_t dot = m.what.rfind('.');
  const std::string unit = m.what.substr(0, dot == std::string::npos ? 0 : dot);
  const std::string name = m.what.substr(dot == std::string::npos ? 0 : dot + 1);
  const auto u = statistics.find(unit);
  if (u == statistics.end()) {
    if (of_absent_node(unit, keys(statistics))) return {};
    missing(m, "unit", unit, keys(statistics), "units");
  }
  const auto s = u->find(name);
  if (s == u->end()) missing(m, "statistic", name, keys(*u), "statistics of " + unit);
  if (!s->is_object()) {
    if (!m.of.empty()) {
      throw metric_error(m.where, "metrics." + m.name, fmt::format("{} is one number; remove 'of: {}'", m.what, m.of));
    }
    return *s;
  }
  const std::string of = m.of.empty() ? "mean" : m.of;
  const auto v = s->find(of);
  if (v == s->end()) missing(m, "value", of, keys(*s), "values of " + m.what);
  return *v;
}

ordered_json cell_value(const metric& m, const ordered_json& tables) {
  std::vector<std::string> rows;
  for (const auto& t : tables) {
    if (!m.table.empty() && t["title"] != m.table) continue;
    for (const auto& row : t["rows"]) {
      if (row[0].is_string()) rows.push_back(row[0]);
      if (row[0] != m.row) continue;
      std::vector<std::string> columns;
      for (std::size_t c = 0; c < row.size(); ++c) {
        columns.push_back(t["columns"][c]["name"]);
        if (columns.back() == m.what) return row[c].is_number() ? row[c] : ordered_json();
      }
      missing(m, "column", m.what, columns, "columns");
    }
  }
  missing(m, "row", m.row, rows, "rows");
}

std::optional<double> knob_value(const ordered_json& description, const std::string& path, knob_kind kind) {
  const ordered_json* at = &description;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto found = at->find(path.substr(begin, end - begin));
    if (found == at->end()) return std::nullopt;
    at = &*found;
    begin = end + 1;
  }
  if (at->is_number()) return at->get<double>();
  if (!at->is_string() || *at == "never") return std::nullopt;
  return static_cast<double>(parse_quantity(kind, at->get<std::string>()));
}

// Returns the bits of a unit and of the units inside; "total" is the machine.
ordered_json cost_value(const metric& m, const ordered_json& cost) {
  std::uint64_t bits = 0;
  bool there = m.what == "total";
  for (const auto& [unit, own] : cost.items()) {
    if (m.what != "total" && unit != m.what && !unit.starts_with(m.what + ".")) continue;
    there = true;
    bits += own.get<std::uint64_t>();
  }
  if (there) return bits;
  if (of_absent_node(m.what, keys(cost))) return {};
  missing(m, "unit with on-chip memory", m.what, keys(cost), "units");
}

// A step without time is not listed, so a step that only another operation has reads 0.
ordered_json explain_value(const metric& m, const ordered_json& breakdown) {
  const auto operation = breakdown.find(m.what);
  if (operation == breakdown.end()) missing(m, "operation", m.what, keys(breakdown), "operations");
  if (m.step.empty()) return (*operation)["total"];
  std::vector<std::string> steps;
  for (const auto& [name, other] : breakdown.items()) {
    for (const auto& s : other["steps"]) steps.push_back(s["unit"]);
  }
  if (std::find(steps.begin(), steps.end(), m.step) == steps.end()) missing(m, "step", m.step, steps, "steps");
  double ns = 0;
  for (const auto& s : (*operation)["steps"]) {
    if (s["unit"] == m.step && (m.kind.empty() || s["kind"] == m.kind)) ns += s["ns"].get<double>();
  }
  return ns;
}

ordered_json series_value(const metric& m, const ordered_json& series) {
  const auto s = series.find(m.what);
  if (s == series.end()) missing(m, "series", m.what, keys(series), "series");
  const std::string of = m.of.empty() ? "mean" : m.of;
  constexpr std::string_view known[] = {"mean", "first", "last", "min", "max", "deviation"};
  if (std::find(std::begin(known), std::end(known), of) == std::end(known))
    missing(m, "value", of, {std::begin(known), std::end(known)}, "values of a series");
  return (*s)[of];
}

ordered_json resource_value(const metric& m, const ordered_json& resources, const ordered_json& units) {
  if (of_absent_node(m.what, keys(units))) return {};
  for (const auto& r : resources) {
    if (fmt::format("{}.{}", r["unit"].get<std::string>(), r["resource"].get<std::string>()) == m.what) return r["utilisation"];
  }
  return 0;  // a resource that was never busy is not listed
}

}  // namespace

std::vector<std::string> names_in(std::string_view formula) {
  std::vector<std::string> out;
  while (!formula.empty()) {
    const std::string_view word = formula.substr(
        0, static_cast<std::size_t>(std::find_if_not(formula.begin(), formula.end(), in_name) - formula.begin()));
    const bool function = word == "min" || word == "max";
    if (!word.empty() && !function && std::isdigit(static_cast<unsigned char>(word[0])) == 0 && word[0] != '.')
      out.emplace_back(word);
    formula.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
  return out;
}

std::optional<double> evaluate(std::string_view formula, const known_values& names) {
  return expression(formula, names).value();
}

ordered_json metric_value(const metric& m, const point_data& data, const known_values& before) {
  switch (m.source) {
    case metric_source::figure: {
      const auto f = data.figures.find(m.what);
      if (f == data.figures.end()) missing(m, "figure", m.what, keys(data.figures), "figures");
      return *f;
    }
    case metric_source::statistic:
      return statistic_value(m, data.statistics);
    case metric_source::table_cell:
      return cell_value(m, data.tables);
    case metric_source::resource:
      return resource_value(m, data.resources, data.statistics);
    case metric_source::cost:
      return cost_value(m, data.cost);
    case metric_source::explain:
      return explain_value(m, data.breakdown);
    case metric_source::series:
      return series_value(m, data.series);
    case metric_source::formula:
      break;
  }
  try {
    const auto v = evaluate(m.what, before);
    return v ? ordered_json(*v) : ordered_json();
  } catch (const std::runtime_error& e) {
    throw metric_error(m.where, "metrics." + m.name, fmt::format("'{}': {}", m.what, e.what()));
  }
}

void check_statistics(const std::vector<metric>& metrics, const ordered_json& statistics) {
  for (const metric& m : metrics) {
    if (m.source == metric_source::statistic) statistic_value(m, statistics);
  }
}

void check_resources(const std::vector<metric>& metrics, const std::vector<std::string>& resources,
                     const ordered_json& statistics) {
  for (const metric& m : metrics) {
    const bool there = std::find(resources.begin(), resources.end(), m.what) != resources.end();
    if (m.source == metric_source::resource && !there && !of_absent_node(m.what, keys(statistics)))
      missing(m, "resource", m.what, resources, "resources");
  }
}

std::string node_of(const metric& m) {
  const bool of_unit =
      m.source == metric_source::statistic || m.source == metric_source::resource || m.source == metric_source::cost;
  return of_unit && of_absent_node(m.what, {}) ? std::string(node_of_unit(m.what)) : std::string();
}

ordered_json metric_values(const std::vector<metric>& metrics, const point_data& data) {
  ordered_json out = ordered_json::object();
  known_values before;
  for (const auto& [name, number] : data.axes.items()) {
    if (number.is_number()) before[name] = number.get<double>();
  }
  for (const metric& m : metrics) {
    for (const auto& [path, kind] : m.knobs) before[path] = knob_value(data.description, path, kind);
    const ordered_json v = metric_value(m, data, before);
    before[m.name] = v.is_number() ? std::optional<double>(v.get<double>()) : std::nullopt;
    out[m.name] = v;
  }
  return out;
}

}  // namespace hcasim
