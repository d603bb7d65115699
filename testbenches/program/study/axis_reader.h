// The axes of a study: lists, ranges, presets, several knobs that change together, samples, seeds. Every value is checked
// against its knob.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/study/strict_yaml.h"
#include "testbenches/program/study/study.h"
#include "tlm/base/knobs.h"

namespace hcasim {

class axis_reader {
 public:
  // `base`: a run with the base's values set, on which the axes' values are tried.
  axis_reader(const strict_yaml& yaml, prepared_run& base) : yaml_(yaml), base_(base) {}

  void read_axis(const YAML::Node& n, const std::string& path, study_axis& a);
  // Counts a knob as varied by another part of the study.
  void taken(const std::string& knob) { varied_.insert(knob); }

 private:
  void zip(const YAML::Node& n, const std::string& path, study_axis& a);
  void seeds(const YAML::Node& n, const std::string& path, study_axis& a);
  void sample(const YAML::Node& n, const std::string& path, study_axis& a);
  [[nodiscard]] std::vector<std::string> sampled(const std::string& knob, const YAML::Node& n, const std::string& path,
                                                 const std::vector<double>& places) const;
  std::vector<axis_value> values_of(const std::string& knob, const YAML::Node& where, const YAML::Node& n,
                                    const std::string& form, const std::string& path, study_axis* a);
  void check_value(const std::string& knob, const std::string& text, const place& p);
  void check_presets(const YAML::Node& n, const std::string& path, const std::vector<axis_value>& values) const;
  long double quantity(const YAML::Node& n, const std::string& path, knob_kind kind) const;
  void ends(const YAML::Node& n, const std::string& path, const char* third) const;
  std::vector<long double> linear(const YAML::Node& n, const std::string& path, knob_kind kind) const;
  std::vector<long double> logarithmic(const YAML::Node& n, const std::string& path, knob_kind kind) const;

  const strict_yaml& yaml_;
  prepared_run& base_;
  search_path search_ = search_path::standard();
  std::set<std::string> varied_;  // keys that an axis sets
};

}  // namespace hcasim
