// Sensitivity around a base point: an axis that changes one knob at a time, down and up, and the effects on the metrics.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/knob_tree.h"
#include "testbenches/program/study/strict_yaml.h"

namespace hcasim {

class result_file;
class study;
struct study_axis;

// One knob of a tornado; indices into the values of its axis, whose value 0 is the base.
struct tornado_arm {
  std::string knob;
  std::optional<std::size_t> low;
  std::optional<std::size_t> high;
};

struct study_tornado {
  static constexpr const char* axis = "tornado";
  std::vector<tornado_arm> arms;  // empty = none
};

// Reads `{knobs: [...], by: A..B}` into an axis. `base`: the knobs as the base sets them.
study_tornado read_tornado(const strict_yaml& yaml, const YAML::Node& n, const knob_tree& base, study_axis& axis);

struct tornado_effect {
  nlohmann::ordered_json axes;  // place on the other axes, name: label
  std::string metric;
  std::string knob;
  double base = 0;
  std::optional<double> low;
  std::optional<double> high;
  // Returns the larger of both changes, as a share of the base's value.
  [[nodiscard]] double size() const;
};
// Returns the effects at each place of the other axes and of each metric, the largest first; empty = no tornado.
std::vector<tornado_effect> tornado_effects(result_file& results, const study& s);

std::string tornado_text(const std::vector<tornado_effect>& effects);

}  // namespace hcasim
