#include "testbenches/program/study/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "testbenches/program/description/names.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;
using known_values = std::map<std::string, std::optional<double>>;

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
      fail(fmt::format("there is no metric '{}' above this one; {}", name, suggestion(name, names, "metrics above")));
    }
    return known->second;
  }
  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
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

ordered_json statistic_value(const metric& m, const ordered_json& statistics) {
  const std::size_t dot = m.what.rfind('.');
  const std::string unit = m.what.substr(0, dot == std::string::npos ? 0 : dot);
  const std::string name = m.what.substr(dot == std::string::npos ? 0 : dot + 1);
  const auto u = statistics.find(unit);
  if (u == statistics.end()) missing(m, "unit", unit, keys(statistics), "units");
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

ordered_json resource_value(const metric& m, const ordered_json& resources) {
  for (const auto& r : resources) {
    if (fmt::format("{}.{}", r["unit"].get<std::string>(), r["resource"].get<std::string>()) == m.what) return r["utilisation"];
  }
  return 0;  // a resource that was never busy is not listed
}

}  // namespace

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
      return resource_value(m, data.resources);
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

void check_resources(const std::vector<metric>& metrics, const std::vector<std::string>& resources) {
  for (const metric& m : metrics) {
    const bool there = std::find(resources.begin(), resources.end(), m.what) != resources.end();
    if (m.source == metric_source::resource && !there) missing(m, "resource", m.what, resources, "resources");
  }
}

ordered_json metric_values(const std::vector<metric>& metrics, const point_data& data) {
  ordered_json out = ordered_json::object();
  known_values before;
  for (const metric& m : metrics) {
    const ordered_json v = metric_value(m, data, before);
    before[m.name] = v.is_number() ? std::optional<double>(v.get<double>()) : std::nullopt;
    out[m.name] = v;
  }
  return out;
}

}  // namespace hcasim
