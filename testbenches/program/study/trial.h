// Estimates the cost of a study from one of its points. The point runs, and its results are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "testbenches/program/study/point_pool.h"

namespace hcasim {

struct point_trial {
  std::uint64_t id = 0;
  std::string status;
  nlohmann::ordered_json failures;
  point_cost cost;
};

// Runs the point in a temporary folder. Returns nothing when a signal ended it. Throws input_error: a metric that the run does
// not have, no temporary folder.
std::optional<point_trial> try_point(const study& s, std::uint64_t id, platform_factory machine, std::optional<ps> time_limit);

struct study_cost {
  double seconds = 0;            // wall-clock time of all points
  std::uint64_t peak_bytes = 0;  // of the points that run at once
};
// Returns the cost of `points` like the one of the trial, `jobs` of them at once.
study_cost cost_of(const point_trial& t, std::uint64_t points, unsigned jobs);

}  // namespace hcasim
