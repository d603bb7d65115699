// Formulas of a study: each name is an earlier metric, an axis of numbers, or the path of a knob.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/description/knob_tree.h"
#include "testbenches/program/study/metrics.h"
#include "testbenches/program/study/strict_yaml.h"

namespace hcasim {

struct study_axis;

class formula_reader {
 public:
  formula_reader(const strict_yaml& yaml, const std::vector<study_axis>& axes, const knob_tree& tree);

  // Adds a metric that later formulas may name.
  void known(const std::string& metric) { values_[metric] = 1.0; }
  // Checks m.what, and fills in its knobs. Throws description_error at `n`.
  void read(const YAML::Node& n, const std::string& path, metric& m) const;

 private:
  const strict_yaml& yaml_;
  const std::vector<study_axis>& axes_;
  const knob_tree& tree_;
  std::map<std::string, std::optional<double>> values_;
};

}  // namespace hcasim
