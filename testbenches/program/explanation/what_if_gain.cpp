#include "testbenches/program/explanation/what_if_gain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t rows_shown = 16;

double gain_of(const headline& base, const headline& value) {
  if (!(base.value > 0) || !(value.value > 0)) return 0;
  return (base.direction == aim::high ? value.value / base.value : base.value / value.value) - 1;
}

std::string percent(double share) {
  return fmt::format("{:.3g} %", share * 100);
}

std::string gain_percent(double gain) {
  return fmt::format("{:+.1f} %", gain * 100);
}

// Returns whether one knob of the unit's list gains nine tenths of what the whole list gains: the unit is then worth no line.
bool explained_by_a_knob(const trial& unit, const std::vector<trial>& knobs) {
  return std::any_of(knobs.begin(), knobs.end(), [&](const trial& t) {
    return t.what.unit == unit.what.unit && t.what.kind == unit.what.kind && std::fabs(t.gain) >= std::fabs(unit.gain) * 0.9;
  });
}

std::string change_of(const what_if_change& r) {
  if (r.whole) return r.kind == relief_kind::resource ? "every resource" : "every latency";
  if (!r.from.empty()) return fmt::format("{} -> {}", r.from, r.to);
  return r.halves ? "each halved" : "each doubled";
}

std::string use_text(const resource_use& u) {
  if (u.name.empty()) return "";
  return fmt::format("{} {}, {:.0f} %", u.unit.substr(0, u.unit.find('.')), u.name, u.utilisation * 100);
}

}  // namespace

double least_gain(const std::vector<headline>& base) {
  double least = helps;
  for (const headline& h : base) least = std::max(least, 2 * h.known_to);
  return least;
}

double gain_of(const std::vector<headline>& base, const std::vector<headline>& values) {
  double most = 0;
  for (std::size_t i = 0; i < std::min(base.size(), values.size()); ++i) {
    const double g = gain_of(base[i], values[i]);
    if (std::fabs(g) > std::fabs(most)) most = g;
  }
  return most;
}

void sort_by_gain(std::vector<trial>& trials) {
  const auto steps = [](const trial& t) { return std::lround(t.gain * 1000); };
  std::stable_sort(trials.begin(), trials.end(), [&](const trial& a, const trial& b) {
    if (a.values.empty() != b.values.empty()) return b.values.empty();
    return steps(a) != steps(b) ? steps(a) > steps(b) : a.busiest.utilisation > b.busiest.utilisation;
  });
}

resource_use busiest_of(const std::string& unit, const std::vector<resource_use>& resources) {
  for (const resource_use& r : resources) {  // busiest first
    const std::string general = for_all_nodes(r.unit);
    const bool its = general == unit || r.unit == unit || (general.find('.') == std::string::npos && general.starts_with(unit));
    if (its && r.utilisation >= 0.0005) return r;
  }
  return {};
}

bool was_tried(const what_if_gain& g, relief_kind kind) {
  const auto is = [kind](const trial& t) { return t.what.kind == kind; };
  return std::any_of(g.knobs.begin(), g.knobs.end(), is) || std::any_of(g.units.begin(), g.units.end(), is);
}

const trial* binding(const what_if_gain& g, relief_kind kind) {
  for (const auto* list : {&g.knobs, &g.units}) {
    const auto first = std::find_if(list->begin(), list->end(), [kind](const trial& t) { return t.what.kind == kind; });
    if (first != list->end() && first->gain >= g.least) return &*first;
  }
  return nullptr;
}

// Returns the advice to try the workload, which a run without a pattern leaves out.
std::string more_requests(const what_if_gain& g, relief_kind kind) {
  const bool more = kind == relief_kind::resource && !g.units.empty();
  return more ? "; more requests at once may help: --what-if 'parameters.*'" : "";
}

std::string binding_text(const what_if_gain& g, relief_kind kind) {
  const trial* most = binding(g, kind);
  if (!g.why_not.empty()) return fmt::format("not known: {}", g.why_not);
  if (!most) {
    const std::string nothing = "none of the tried changes: no gain reaches " + percent(g.least);
    return nothing + more_requests(g, kind);
  }
  std::size_t which = 0;
  for (std::size_t i = 1; i < g.base.size(); ++i) {
    if (gain_of(g.base[i], most->values[i]) > gain_of(g.base[which], most->values[which])) which = i;
  }
  const headline& h = g.base[which];
  constexpr double small = 0.1;  // of the resource that gains most: the workload may bind more than any
  return fmt::format("{}, {}: {} {} -> {} {}, {}{}", most->what.name, change_of(most->what), h.name, number_text(h.value),
                     number_text(most->values[which].value), h.unit, gain_percent(most->gain),
                     most->gain < small ? more_requests(g, kind) : "");
}

namespace {

class gain_table {
 public:
  gain_table(const what_if_gain& g, relief_kind kind) : g_(g), kind_(kind) {
    rows_[0] = {"relieved", "", "gain"};
    for (const headline& h : g.base) {
      rows_[0].push_back(fmt::format("{} [{}]", h.name, h.unit));
      right_.push_back(true);
    }
    rows_[0].emplace_back("how busy it was");
    right_.push_back(false);
    add("(as described)", "", "", g.base, "");
    for (const trial& t : g.knobs) {
      if (t.what.kind == kind) take(t);
    }
    for (const trial& t : g.units) {
      if (t.what.kind == kind && !explained_by_a_knob(t, g.knobs)) take(t);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string out = aligned(rows_, right_);
    if (without_ != 0) out += fmt::format("  without effect, or less than {}: {}\n", percent(g_.least), without_);
    for (const auto* list : {&g_.knobs, &g_.units}) {
      for (const trial& t : *list) {
        if (t.values.empty() && t.what.kind == kind_)
          out += fmt::format("  {} could not be tried: {}\n", t.what.name, t.why_not);
      }
    }
    return out + "\n";
  }

 private:
  void add(std::string name, std::string what, std::string gain, const std::vector<headline>& values, const std::string& use) {
    std::vector<std::string> row{std::move(name), std::move(what), std::move(gain)};
    for (const headline& h : values) row.push_back(number_text(h.value));
    row.push_back(use);
    rows_.push_back(std::move(row));
  }
  void take(const trial& t) {
    if (t.values.empty()) return;
    if (std::fabs(t.gain) < g_.least || (!t.what.whole && rows_.size() > rows_shown + 1)) {
      ++without_;
    } else {
      add(t.what.name, change_of(t.what), gain_percent(t.gain), t.values, use_text(t.busiest));
    }
  }

  const what_if_gain& g_;
  relief_kind kind_;
  std::vector<std::vector<std::string>> rows_{1};
  std::vector<bool> right_{false, false, true};
  std::size_t without_ = 0;
};

}  // namespace

std::string what_if_gain_text(const what_if_gain& g) {
  if (!g.why_not.empty()) return "";
  std::string out;
  if (was_tried(g, relief_kind::resource))
    out += "what more of each resource would gain\n" + gain_table(g, relief_kind::resource).text();
  if (was_tried(g, relief_kind::latency))
    out += "what half of each latency would gain\n" + gain_table(g, relief_kind::latency).text();
  return out;
}

std::string what_if_verdicts(const what_if_gain& g) {
  std::string out;
  const bool only_latencies = was_tried(g, relief_kind::latency) && !was_tried(g, relief_kind::resource);
  if (!only_latencies) out += fmt::format("binding     {}\n", binding_text(g, relief_kind::resource));
  if (g.why_not.empty() && was_tried(g, relief_kind::latency))
    out += fmt::format("latency     {}\n", binding_text(g, relief_kind::latency));
  return out;
}

ordered_json what_if_gain_json(const what_if_gain& g) {
  const auto values = [](const std::vector<headline>& list) {
    ordered_json out = ordered_json::object();
    for (const headline& h : list) out[h.name] = h.value;
    return out;
  };
  ordered_json headlines = ordered_json::array();
  for (const headline& h : g.base) {
    headlines.push_back(
        {{"name", h.name}, {"value", h.value}, {"unit", h.unit}, {"better", h.direction == aim::high ? "high" : "low"}});
  }
  const auto trials = [&](const std::vector<trial>& of, relief_kind kind) {
    ordered_json list = ordered_json::array();
    for (const trial& t : of) {
      if (t.what.kind != kind) continue;
      ordered_json entry{{"relieved", t.what.name}, {"change", change_of(t.what)}};
      if (t.values.empty()) {
        entry["refused"] = t.why_not;
      } else {
        entry["gain"] = std::round(t.gain * 1e6) / 1e6;
        entry["values"] = values(t.values);
      }
      if (!t.busiest.name.empty()) entry["busiest"] = use_text(t.busiest);
      list.push_back(std::move(entry));
    }
    return list;
  };
  const auto list_of = [&](relief_kind kind) {
    const trial* most = binding(g, kind);
    return ordered_json{{"binding", most ? ordered_json(most->what.name) : ordered_json()},
                        {"gains", trials(g.knobs, kind)},
                        {"units", trials(g.units, kind)}};
  };
  ordered_json out{{"headlines", std::move(headlines)}};
  out.update(list_of(relief_kind::resource));
  out["latencies"] = list_of(relief_kind::latency);
  if (g.least != helps) out["least"] = g.least;
  if (!g.why_not.empty()) out["error"] = g.why_not;
  return out;
}

}  // namespace hcasim
