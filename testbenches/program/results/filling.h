// Caches that were still being filled in the measured part: in a longer run their ratios differ.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/results/measurement.h"

namespace hcasim {

struct filling_cache {
  std::string unit;
  double lookups = 0;
  double filled = 0;  // misses whose entry found an empty place: no other entry made room
};

// Returns the caches where more than 1 % of the lookups of the part filled an empty place, the largest share first.
std::vector<filling_cache> still_filling(const measurement& m, const measurement::part& p);

nlohmann::ordered_json filling_json(const std::vector<filling_cache>& caches);
// Returns a line for each cache; empty = none.
std::string filling_text(const std::vector<filling_cache>& caches);

}  // namespace hcasim
