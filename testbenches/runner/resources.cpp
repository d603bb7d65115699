#include "testbenches/runner/resources.h"

#include <algorithm>
#include <cmath>

#include "testbenches/runner/knob_tree.h"

namespace hcasim {
namespace {

struct shared_capacity {
  std::string_view statistic;
  std::string_view knob;
};
constexpr shared_capacity capacities[] = {
    {"walkers_busy", "walkers"}, {"tags_in_use", "read_tags"}, {"write_bytes", "write_buffer"}, {"outstanding", "fetches"}};

double knob_value(const knob::target& t) {
  if (const auto* u = std::get_if<std::uint32_t*>(&t)) return **u;
  if (const auto* u = std::get_if<std::uint64_t*>(&t)) return static_cast<double>(**u);
  return 0;
}

}  // namespace

std::string short_name(std::string_view unit) {
  constexpr std::string_view top = "system.";
  return std::string(unit.starts_with(top) ? unit.substr(top.size()) : unit);
}

std::optional<double> resource_meter::busy_time(const std::string& unit, const statistic& s, ps at) const {
  const auto t = static_cast<double>(at.count());
  if (const auto* f = std::get_if<std::function<double()>>(&s.value)) {
    if (s.unit == "1" && (s.name.ends_with("utilisation") || s.name.ends_with("_busy"))) return (*f)() * t;
    if (s.unit == "ps" && s.name.ends_with("busy")) return (*f)();
  } else if (const auto* l = std::get_if<const level*>(&s.value)) {
    for (const shared_capacity& c : capacities) {
      if (s.name != c.statistic) continue;
      const knob_tree::leaf* leaf = tree_.find(fmt::format("{}.{}", unit, c.knob));
      if (leaf && knob_value(leaf->value) > 0) return (*l)->mean(at) * t / knob_value(leaf->value);
    }
  }
  return std::nullopt;
}

resource_meter::snapshot resource_meter::take(const std::vector<unit*>& units, ps at) const {
  snapshot out{at, {}};
  for (const unit* u : units) {
    const std::string name = short_name(u->name());
    for (const statistic& s : u->stats().all()) {
      if (const auto busy = busy_time(name, s, at)) out.busy.push_back({{name, s.name, 0, s.help}, *busy});
    }
  }
  return out;
}

void resource_meter::mark(const std::vector<unit*>& units, ps at) {
  if (!begin_) {
    begin_ = take(units, at);
  } else if (!end_) {
    end_ = take(units, at);
  }
}

std::vector<resource_use> resource_meter::utilisation(const std::vector<unit*>& units, ps end) const {
  const snapshot last = end_ ? *end_ : take(units, end);
  const auto time = static_cast<double>((last.at - (begin_ ? begin_->at : ps(0))).count());
  std::vector<resource_use> list = more_;
  for (std::size_t i = 0; i < last.busy.size() && time > 0; ++i) {
    const double before = begin_ && i < begin_->busy.size() ? begin_->busy[i].second : 0;
    list.push_back(last.busy[i].first);
    list.back().utilisation = std::max(0.0, last.busy[i].second - before) / time;
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const resource_use& a, const resource_use& b) { return a.utilisation > b.utilisation; });
  return list;
}

nlohmann::ordered_json resources_json(const std::vector<resource_use>& list) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const resource_use& r : list) {
    if (r.utilisation <= 0) continue;
    out.push_back(
        {{"unit", r.unit}, {"resource", r.name}, {"utilisation", std::round(r.utilisation * 1e6) / 1e6}, {"help", r.help}});
  }
  return out;
}

}  // namespace hcasim
