#include "testbenches/program/execution/what_if.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "testbenches/program/description/names.h"
#include "testbenches/program/recording/resources.h"

namespace hcasim {
namespace {

constexpr double least_share = 0.1;  // share of the list's largest gain, below which a unit's knobs are not tried one by one

std::vector<variant_runs::settings> settings_of(const std::vector<what_if_change>& what_if_changes) {
  std::vector<variant_runs::settings> out(1);
  for (const what_if_change& r : what_if_changes) {
    auto& settings = out.emplace_back();
    for (const what_if_change::setting& s : r.settings) settings.emplace_back(s.path, s.text);
  }
  return out;
}

bool took_part(const statistic& s) {
  if (const auto* c = std::get_if<const counter*>(&s.value)) return (*c)->value() != 0;
  if (const auto* h = std::get_if<histogram*>(&s.value)) return (*h)->count_ever() != 0;
  return false;
}

// link0 of the unit "link"; a node's units have their own names.
std::string knobs_of(const std::string& unit_name) {
  std::string name = for_all_nodes(short_name(unit_name));
  if (name.find('.') == std::string::npos) {
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  }
  return name;
}

}  // namespace

what_if::what_if(const description& d, const prepared_run& run, platform_factory machine, const std::filesystem::path& scratch,
                 const std::string& pattern, unsigned jobs)
    : pattern_(!pattern.empty()),
      what_if_changes_(pattern.empty() ? all_changes(run.tree()) : changes_for(run.tree(), pattern)),
      variants_(d, run.name(), machine, scratch, settings_of(what_if_changes_), jobs) {}

std::vector<std::size_t> what_if::units_that_took_part(const std::vector<unit*>& units) const {
  std::set<std::string> active;
  std::set<std::string> there;
  for (const unit* u : units) {
    const std::string name = knobs_of(u->name());
    there.insert(name);
    const auto& list = u->stats().all();
    if (std::any_of(list.begin(), list.end(), took_part)) active.insert(name);
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < what_if_changes_.size(); ++i) {
    // The driver is software that costs time, without a unit of its own.
    const bool software = what_if_changes_[i].unit.ends_with(".driver") && !there.empty();
    if (what_if_changes_[i].whole && (active.contains(what_if_changes_[i].unit) || software)) out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> what_if::knobs_to_try(const what_if_gain& g) const {
  std::map<relief_kind, double> most{{relief_kind::resource, g.least}, {relief_kind::latency, g.least}};
  for (const trial& t : g.units) most[t.what.kind] = std::max(most[t.what.kind], t.gain);
  std::set<std::pair<std::string, relief_kind>> groups;
  for (const trial& t : g.units) {
    if (t.values.empty() || std::fabs(t.gain) >= std::max(g.least, most[t.what.kind] * least_share))
      groups.emplace(t.what.unit, t.what.kind);
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < what_if_changes_.size(); ++i) {
    const what_if_change& c = what_if_changes_[i];
    if (!c.whole && groups.contains({c.unit, c.kind})) out.push_back(i);
  }
  return out;
}

void what_if::try_out(const std::vector<std::size_t>& which, what_if_gain& g) {
  std::vector<std::size_t> variants;
  if (runs_ == 0) variants.push_back(0);
  for (const std::size_t i : which) variants.push_back(i + 1);
  auto outcomes = variants_.run(variants, limit_);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    variant_runs::outcome& o = outcomes[i];
    if (variants[i] == 0) {
      g.base = std::move(o.values);
      g.why_not = std::move(o.why);
      g.least = least_gain(g.base);
      continue;
    }
    const double gain = gain_of(g.base, o.values);
    const what_if_change& what = what_if_changes_[variants[i] - 1];
    (what.whole ? g.units : g.knobs).push_back({what, std::move(o.values), std::move(o.why), gain, {}});
  }
  runs_ += variants.size();
}

what_if_gain what_if::run(const std::vector<resource_use>& resources, const std::vector<unit*>& units, double seconds) {
  using namespace std::chrono_literals;
  limit_ = 60s + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 20'000));
  what_if_gain g;
  std::vector<std::size_t> first(what_if_changes_.size());
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  try_out(pattern_ ? first : units_that_took_part(units), g);
  if (!g.why_not.empty()) {
    g.knobs.clear();
    g.units.clear();
    return g;
  }
  if (!pattern_) try_out(knobs_to_try(g), g);
  for (auto* list : {&g.knobs, &g.units}) {
    for (trial& t : *list) t.busiest = busiest_of(t.what.unit, resources);
    sort_by_gain(*list);
  }
  return g;
}

}  // namespace hcasim
