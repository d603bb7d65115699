// Gains of relieving each resource: the runs of a what-if set against the run as it was described.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/explanation/relief.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/result.h"

namespace hcasim {

// Less than this share is none.
inline constexpr double helps = 0.01;

struct trial {
  relief what;
  std::vector<headline> values;  // as those of the run itself; empty = it did not come to its end
  std::string why_not;           // then
  double gain = 0;               // of the headline that changed most: 1 is twice as good
  resource_use busiest;          // of the unit's resources in the run as it was; no name: none was busy
};

struct gains {
  std::vector<headline> base;
  std::vector<trial> knobs;  // largest gain first
  std::vector<trial> units;  // all knobs of a unit at once
  std::string why_not;       // nothing could be compared
};

// How much better the best of `values` is than the same of `base`.
double gain_of(const std::vector<headline>& base, const std::vector<headline>& values);

// Largest gain first; of equal ones that of the busier unit.
void sort_by_gain(std::vector<trial>& trials);

// The busiest resource of the unit's, whichever node it is in.
resource_use busiest_of(const std::string& unit, const std::vector<resource_use>& resources);

// The knob whose relief helps most, or the unit when no knob helps by itself. Null = nothing helps.
const trial* binding(const gains& g);
// "node*.hca.page_walker.walkers, 4 -> 8: message_rate 10 -> 19.8 M/s, +98.0 %"
std::string binding_text(const gains& g);

std::string gains_text(const gains& g);
nlohmann::ordered_json gains_json(const gains& g);

}  // namespace hcasim
