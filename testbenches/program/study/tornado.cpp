#include "testbenches/program/study/tornado.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/study/study.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

bool is_number(const knob_tree::leaf& l) {
  return l.kind != knob_kind::text && l.kind != knob_kind::path && l.kind != knob_kind::choice && l.kind != knob_kind::flag;
}

// Reads "0.5..2".
std::pair<double, double> factors_of(const strict_yaml& yaml, const YAML::Node& n) {
  const std::string text = n ? yaml.scalar(n, "tornado.by") : "0.5..2";
  const std::size_t dots = text.find("..");
  const auto number = [&](const std::string& part) {
    char* end = nullptr;
    const double v = std::strtod(part.c_str(), &end);
    return part.empty() || *end != 0 || !(v > 0) ? NAN : v;
  };
  const double low = dots == std::string::npos ? NAN : number(text.substr(0, dots));
  const double high = dots == std::string::npos ? NAN : number(text.substr(dots + 2));
  if (!(low < 1) || !(high > 1) || std::isinf(high))
    yaml.fail(n, "tornado.by", fmt::format("'{}' is no pair of factors around 1; write for example 0.5..2", text));
  return {low, high};
}

// Returns the settings of the knob times `factor`, of each node from its own value; empty = nothing changes.
std::vector<std::pair<std::string, std::string>> scaled(const std::vector<const knob_tree::leaf*>& leaves, double factor) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const knob_tree::leaf* l : leaves) {
    if (l->text() == "never") continue;
    const long double now = parse_quantity(l->kind, l->text());
    long double then = now * static_cast<long double>(factor);
    if (l->kind == knob_kind::count || l->kind == knob_kind::bytes || l->kind == knob_kind::time) then = std::round(then);
    then = std::clamp(then, static_cast<long double>(l->min), static_cast<long double>(l->max));
    if (then != now) out.emplace_back(l->path, format_quantity(l->kind, then));
  }
  return out;
}

std::string percent(double base, const std::optional<double>& v) {
  if (!v) return "-";
  return base != 0 ? fmt::format("{:+.1f} %", (*v / base - 1) * 100) : number_text(*v);
}

}  // namespace

study_tornado read_tornado(const strict_yaml& yaml, const YAML::Node& n, const knob_tree& base, study_axis& axis) {
  yaml.check_keys(n, "tornado", {"knobs", "by"});
  if (!n["knobs"]) yaml.fail(n, "tornado.knobs", "which knobs? add 'knobs: [PATH, ...]' ('hcasim params')");
  const auto [down, up] = factors_of(yaml, n["by"]);
  axis.name = study_tornado::axis;
  axis.title = "one knob changed";
  axis.where = yaml.at(n);
  axis.values.push_back({"base", nullptr, {}});
  study_tornado out;
  std::set<std::string> seen;
  const std::vector<std::string> knobs = yaml.list(n["knobs"], "tornado.knobs");
  if (knobs.empty()) yaml.fail(n["knobs"], "tornado.knobs", "the list is empty; name at least one knob");
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    const YAML::Node where = n["knobs"][i];
    const std::string& knob = knobs[i];
    if (!seen.insert(knob).second) yaml.fail(where, "tornado.knobs", fmt::format("{} is given twice; remove one", knob));
    if (const auto& first = base.first(knob, yaml.at(where)); !is_number(first))
      yaml.fail(where, "tornado.knobs", fmt::format("{} is {} and cannot be multiplied", knob, kind_name(first.kind)));
    std::vector<const knob_tree::leaf*> leaves;
    for (const auto& l : base.leaves()) {
      const bool as_deep = std::count(l.path.begin(), l.path.end(), '.') == std::count(knob.begin(), knob.end(), '.');
      if (as_deep && glob_match(knob, l.path)) leaves.push_back(&l);
    }
    tornado_arm arm{knob, {}, {}};
    for (const auto& [factor, index] : {std::pair{down, &arm.low}, {up, &arm.high}}) {
      auto settings = scaled(leaves, factor);
      if (settings.empty()) continue;
      *index = axis.values.size();
      axis.values.push_back({fmt::format("{} x {:g}", knob, factor), nullptr, std::move(settings)});
    }
    if (!arm.low && !arm.high)
      yaml.fail(where, "tornado.knobs",
                fmt::format("{} = {} stays as it is; allowed is {}", knob, leaves[0]->text(), leaves[0]->range()));
    out.arms.push_back(std::move(arm));
  }
  return out;
}

double tornado_effect::size() const {
  const auto share = [this](const std::optional<double>& v) {
    return v && base != 0 ? std::fabs(*v / base - 1) : v ? std::fabs(*v) : 0;
  };
  return std::max(share(low), share(high));
}

std::vector<tornado_effect> tornado_effects(result_file& results, const study& s) {
  std::vector<tornado_effect> out;
  if (s.tornado().arms.empty()) return out;
  std::size_t own = 0;
  while (s.axes()[own].name != study_tornado::axis) ++own;
  // Place on the other axes, then value of the own axis.
  std::map<std::vector<std::size_t>, std::map<std::size_t, ordered_json>> places;
  results.query("SELECT id, metrics FROM points WHERE status = 'passed' ORDER BY id", [&](const auto& row) {
    auto at = s.coordinates(std::stoull(row[0]));
    const std::size_t value = std::exchange(at[own], 0);
    places[at][value] = ordered_json::parse(row[1]);
  });
  for (const auto& [at, values] : places) {
    ordered_json axes = ordered_json::object();
    for (std::size_t a = 0; a < at.size(); ++a) {
      if (a != own) axes[s.axes()[a].name] = s.axes()[a].values[at[a]].label;
    }
    const auto value = [&values](const std::optional<std::size_t>& index, const std::string& metric) -> std::optional<double> {
      const auto found = index ? values.find(*index) : values.end();
      if (found == values.end() || !found->second.contains(metric)) return std::nullopt;
      const ordered_json& v = found->second[metric];
      return v.is_number() ? std::optional<double>(v.get<double>()) : std::nullopt;
    };
    for (const metric& m : s.metrics()) {
      const auto base = value(0, m.name);
      if (!base) continue;
      const auto begin = static_cast<std::ptrdiff_t>(out.size());
      for (const tornado_arm& arm : s.tornado().arms)
        out.push_back({axes, m.name, arm.knob, *base, value(arm.low, m.name), value(arm.high, m.name)});
      std::stable_sort(out.begin() + begin, out.end(),
                       [](const tornado_effect& a, const tornado_effect& b) { return a.size() > b.size(); });
    }
  }
  return out;
}

std::string tornado_text(const std::vector<tornado_effect>& effects) {
  std::string out;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const tornado_effect& e = effects[i];
    if (rows.empty()) rows.push_back({"knob", "low", "high"});
    rows.push_back({e.knob, percent(e.base, e.low), percent(e.base, e.high)});
    const bool last = i + 1 == effects.size() || effects[i + 1].metric != e.metric || effects[i + 1].axes != e.axes;
    if (!last) continue;
    std::string place;
    for (const auto& [axis, label] : e.axes.items()) place += fmt::format(", {} = {}", axis, label.template get<std::string>());
    out += fmt::format("{} around {}{}\n{}", e.metric, number_text(e.base), place, aligned(rows, {false, true, true}));
    rows.clear();
  }
  return out;
}

}  // namespace hcasim
