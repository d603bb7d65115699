// Model beside measurement: errors, and the verdict over an experiment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/validation/experiment.h"

namespace hcasim {

struct compared_point {
  const published_point* published = nullptr;
  std::optional<double> model{};  // in the unit of the published value
  std::string choice{};           // the value of `best_over` that gave the best; empty = there is one run only
  std::string problem{};          // why there is no value

  // Returns the error, as a share of the published value.
  [[nodiscard]] double error() const { return (*model - published->y) / published->y; }
};

struct compared_series {
  std::string name;
  const replayed_series* replay = nullptr;
  std::vector<compared_point> points{};  // in the order of the file

  [[nodiscard]] bool complete() const;
};

// The measures over the series that share a tolerance.
struct judgement {
  std::string of;  // the series; empty = the experiment
  tolerance limits;
  std::size_t points = 0;
  double mape = 0;   // %
  double worst = 0;  // %
  double worst_x = 0;
  std::optional<double> knee{};  // octaves, the largest; nothing = no curve leaves its plateau
  double asymptote = 0;          // %, the largest of the series' last points
  std::vector<std::string> outside{};
};

struct checked_shape {
  std::string text;
  bool ok = false;
  double off = ok ? 0 : 1;  // distance from the wanted value, as a share of the allowed one
};

enum class fidelity_verdict : std::uint8_t { within, outside, not_expressible };
const char* name_of(fidelity_verdict v);

struct compared_experiment {
  const experiment* of = nullptr;
  std::string preset;
  std::vector<compared_series> series{};
  std::vector<judgement> judgements{};
  std::vector<checked_shape> shapes{};
  std::vector<std::string> fitted{};  // constants of the preset that were fitted to this experiment
  bool claimed = false;               // the preset says that this experiment is within its tolerance
  fidelity_verdict result = fidelity_verdict::not_expressible;
};

// Fills in judgements, shapes and the verdict from the points.
void judge(compared_experiment& e);

// Returns log2 of the x where a curve leaves its first value by a tenth, between two points by a straight line; nothing = it
// stays. `y` gives the value of each point.
std::optional<double> knee_of(const compared_series& s, const std::function<double(const compared_point&)>& y);

}  // namespace hcasim
