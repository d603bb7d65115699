// Gains of relieving each resource: the runs of a what-if set against the run as it was described.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/explanation/what_if_change.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/result.h"

namespace hcasim {

// Less than this share is none. Of figures with a confidence interval, less than two intervals is chance.
inline constexpr double helps = 0.01;
double least_gain(const std::vector<headline>& base);

struct trial {
  what_if_change what;
  std::vector<headline> values;  // like the run's own; empty = the trial did not come to its end
  std::string why_not;           // reason for empty values
  double gain = 0;               // of the most changed headline: 1 = twice as good
  resource_use busiest;          // of the unit's resources in the unchanged run; no name = none was busy
};

struct what_if_gain {
  std::vector<headline> base;
  std::vector<trial> knobs;  // largest gain first
  std::vector<trial> units;  // all resources, or all latencies, of a unit at once
  std::string why_not;       // nothing could be compared
  double least = helps;      // smallest gain that counts
};

// Returns how much better the best of `values` is than the same headline of `base`.
double gain_of(const std::vector<headline>& base, const std::vector<headline>& values);

// Sorts by gain, largest first; equal gains by the busier unit.
void sort_by_gain(std::vector<trial>& trials);

// Returns the busiest resource of the unit, in any node.
resource_use busiest_of(const std::string& unit, const std::vector<resource_use>& resources);

// Returns whether anything of this kind was tried.
bool was_tried(const what_if_gain& g, relief_kind kind);
// Returns the knob of this kind whose relief helps most, or the unit when no single knob helps; null = nothing helps.
const trial* binding(const what_if_gain& g, relief_kind kind);
// Returns "node*.hca.page_walker.walkers, 4 -> 8: message_rate 10 -> 19.8 M/s, +98.0 %".
std::string binding_text(const what_if_gain& g, relief_kind kind);

// Returns a table of the resources and one of the latencies, as far as any was tried.
std::string what_if_gain_text(const what_if_gain& g);
// Returns the verdicts, a line each: "binding" for the resources, "latency" for the latencies.
std::string what_if_verdicts(const what_if_gain& g);
nlohmann::ordered_json what_if_gain_json(const what_if_gain& g);

}  // namespace hcasim
