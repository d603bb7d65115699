#include "testbenches/program/study/goal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "testbenches/program/description/names.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/study.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

template <class List>
std::size_t index_of_name(const strict_yaml& yaml, const YAML::Node& n, const std::string& path, const char* kind,
                          const List& list) {
  const std::string name = yaml.scalar(n, path);
  std::vector<std::string> names;
  for (const auto& entry : list) names.push_back(entry.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    yaml.fail(n, path, fmt::format("there is no {} '{}'; {}", kind, name, suggestion(name, names, fmt::format("{}s", kind))));
  return static_cast<std::size_t>(found - names.begin());
}

// Returns which of two keys is given: true = the first.
bool first_of(const strict_yaml& yaml, const YAML::Node& n, const char* first, const char* second) {
  if (n[first].IsDefined() == n[second].IsDefined())
    yaml.fail(n, "goal",
              fmt::format("exactly one of {} and {} is needed; write for example goal: {{largest: AXIS, metric: METRIC, below: "
                          "5000}}",
                          first, second));
  return n[first].IsDefined();
}

}  // namespace

study_goal read_goal(const strict_yaml& yaml, const YAML::Node& n, const std::vector<study_axis>& axes,
                     const std::vector<metric>& metrics) {
  yaml.check_keys(n, "goal", {"largest", "smallest", "metric", "below", "above"});
  study_goal g;
  g.largest = first_of(yaml, n, "largest", "smallest");
  const char* const side = g.largest ? "largest" : "smallest";
  const std::string path = fmt::format("goal.{}", side);
  g.axis = index_of_name(yaml, n[side], path, "axis", axes);
  const study_axis& a = axes[g.axis];
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const bool number = a.values[i].number.is_number();
    if (!number || (i > 0 && !(a.values[i].number > a.values[i - 1].number)))
      yaml.fail(n[side], path, fmt::format("the values of {} do not rise, so there is no {} one; sort them", a.name, side));
  }
  if (!n["metric"]) yaml.fail(n, "goal.metric", "which metric has the limit? add 'metric: METRIC'");
  g.metric = metrics[index_of_name(yaml, n["metric"], "goal.metric", "metric", metrics)].name;
  g.below = first_of(yaml, n, "below", "above");
  const YAML::Node limit = n[g.below ? "below" : "above"];
  const std::string text = yaml.scalar(limit, g.below ? "goal.below" : "goal.above");
  char* end = nullptr;
  g.limit = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(g.limit))
    yaml.fail(limit, "goal", fmt::format("'{}' is not a number; write the limit in the metric's unit, without it", text));
  return g;
}

goal_seeker::goal_seeker(const study& s) : study_(s), count_(s.axes()[s.goal()->axis].values.size()), stride_(1) {
  for (std::size_t a = s.goal()->axis + 1; a < s.axes().size(); ++a) stride_ *= s.axes()[a].values.size();
  for (std::uint64_t id = 1; id <= s.points(); ++id) {
    if (s.coordinates(id)[s.goal()->axis] == 0) searches_.push_back({id});
  }
}

void goal_seeker::keep_only(const std::function<bool(std::uint64_t)>& wanted) {
  std::erase_if(searches_, [&](const search& s) { return !wanted(s.first); });
}

std::size_t goal_seeker::index_of(std::size_t position) const {
  return study_.goal()->largest ? position : count_ - 1 - position;
}
std::uint64_t goal_seeker::id_of(const search& s, std::size_t position) const {
  return s.first + stride_ * index_of(position);
}
const std::string& goal_seeker::label(std::size_t position) const {
  return study_.axes()[study_.goal()->axis].values[index_of(position)].label;
}
bool goal_seeker::holds(const search& s, std::size_t position) const {
  const auto& v = s.values.at(position);
  return v && study_.goal()->holds(*v);
}

// Returns the last position before the first one without the limit; nothing = position 0 does not hold.
std::optional<std::size_t> goal_seeker::answer(const search& s) const {
  std::optional<std::size_t> best;
  for (const auto& [position, value] : s.values) {
    if (!holds(s, position)) break;
    best = position;
  }
  return best;
}

std::optional<std::size_t> goal_seeker::wanted(const search& s) const {
  const std::size_t last = count_ - 1;
  if (!s.values.contains(0)) return 0;
  if (!holds(s, 0)) return std::nullopt;
  if (!s.values.contains(last)) return last;
  if (holds(s, last)) return std::nullopt;
  const std::size_t low = *answer(s);
  const std::size_t high = std::next(s.values.find(low))->first;
  if (high - low < 2) return std::nullopt;
  return low + (high - low) / 2;
}

std::vector<std::uint64_t> goal_seeker::next() const {
  std::vector<std::uint64_t> out;
  for (const search& s : searches_) {
    if (const auto position = wanted(s)) out.push_back(id_of(s, *position));
  }
  return out;
}

void goal_seeker::take(std::uint64_t id, std::optional<double> value) {
  auto at = study_.coordinates(id);
  const std::size_t index = at[study_.goal()->axis];
  const std::uint64_t first = id - stride_ * index;
  for (search& s : searches_) {
    if (s.first == first) s.values[index_of(index)] = value;
  }
}

std::uint64_t goal_seeker::most() const {
  return searches_.size() * std::min<std::uint64_t>(count_, 2 + static_cast<std::uint64_t>(std::bit_width(count_)));
}

// A metric that rises and falls again may cross its limit more than once.
std::string goal_seeker::not_monotonic(const search& s) const {
  std::vector<std::pair<std::size_t, double>> known;
  for (const auto& [position, value] : s.values) {
    if (value) known.emplace_back(position, *value);
  }
  if (known.size() < 3) return "";
  const double trend = known.back().second - known.front().second;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const double step = known[i].second - known[i - 1].second;
    if (step * trend >= 0 && (trend != 0 || step == 0)) continue;
    return fmt::format("{} does not change in one direction ({} at {}, {} at {}), so other values may keep the limit, too",
                       study_.goal()->metric, number_text(known[i - 1].second), label(known[i - 1].first),
                       number_text(known[i].second), label(known[i].first));
  }
  return "";
}

ordered_json goal_seeker::json() const {
  const study_goal& g = *study_.goal();
  ordered_json out = ordered_json::array();
  for (const search& s : searches_) {
    ordered_json axes = ordered_json::object();
    const auto at = study_.coordinates(s.first);
    for (std::size_t a = 0; a < at.size(); ++a) {
      if (a != g.axis) axes[study_.axes()[a].name] = study_.axes()[a].values[at[a]].label;
    }
    const auto best = answer(s);
    ordered_json entry{{"axes", std::move(axes)}, {"value", nullptr}, {g.metric, nullptr}};
    if (best) {
      entry["value"] = label(*best);
      entry[g.metric] = *s.values.at(*best);
    }
    const auto beyond = best ? std::next(s.values.find(*best)) : s.values.begin();
    if (beyond != s.values.end()) {
      entry["beyond"] = label(beyond->first);
      entry[g.metric + "_beyond"] = beyond->second ? ordered_json(*beyond->second) : ordered_json();
    }
    const std::string doubt = not_monotonic(s);
    entry["monotonic"] = doubt.empty();
    if (!doubt.empty()) entry["note"] = doubt;
    out.push_back(std::move(entry));
  }
  return out;
}

std::string goal_seeker::text() const {
  const study_goal& g = *study_.goal();
  const std::string& axis = study_.axes()[g.axis].name;
  std::vector<std::vector<std::string>> rows(1);
  for (std::size_t a = 0; a < study_.axes().size(); ++a) {
    if (a != g.axis) rows[0].push_back(study_.axes()[a].name);
  }
  const std::string side = g.largest ? "largest" : "smallest";
  for (const std::string& head : {side + " " + axis, g.metric, std::string("beyond"), g.metric}) rows[0].push_back(head);
  std::string notes;
  const auto shown = [](const ordered_json& v) {
    return v.is_null() ? "-" : v.is_string() ? v.get<std::string>() : number_text(v.get<double>());
  };
  for (const auto& entry : json()) {
    std::vector<std::string> row;
    std::string place;
    for (const auto& [name, value] : entry["axes"].items()) {
      row.push_back(value);
      place += fmt::format("{} = {}, ", name, row.back());
    }
    row.push_back(entry["value"].is_null() ? "none" : shown(entry["value"]));
    row.push_back(shown(entry[g.metric]));
    row.push_back(shown(entry.value("beyond", ordered_json())));
    row.push_back(shown(entry.value(g.metric + "_beyond", ordered_json())));
    rows.push_back(std::move(row));
    if (entry.contains("note")) notes += fmt::format("  {}{}\n", place, entry["note"].get<std::string>());
  }
  return fmt::format("{} {} with {} {} {:g}\n{}{}", side, axis, g.metric, g.below ? "below" : "above", g.limit,
                     aligned(rows, std::vector<bool>(rows[0].size(), true)), notes);
}

}  // namespace hcasim
