// The plan of `hcasim fit`: blocks of knobs with their ranges, and the series that each block is fitted to (docs/fidelity.md).
#pragma once

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "testbenches/program/study/strict_yaml.h"
#include "testbenches/program/validation/comparison.h"
#include "testbenches/program/validation/pattern_search.h"

namespace hcasim {

// Some series of an experiment: those whose name has the pattern.
struct series_choice {
  std::string experiment;
  std::string text;  // the pattern; empty = all series
  std::regex pattern{};

  [[nodiscard]] bool has(const std::string& of, const std::string& series) const {
    return of == experiment && std::regex_search(series, pattern);
  }
};

struct fitted_knob {
  std::string path;
  std::string unit;  // behind the number: cycles, ns; empty = none
  search_range range;
  double begin = 0;

  [[nodiscard]] std::string text(double value) const;
};

struct fit_block {
  std::string name;
  std::vector<fitted_knob> knobs;
  std::vector<series_choice> to;

  [[nodiscard]] bool has(const std::string& experiment, const std::string& series) const;
  // Returns the names of its experiments: "V01, V02".
  [[nodiscard]] std::string experiments() const;
  [[nodiscard]] knob_values values(const search_point& p) const;
};

class fit_plan {
 public:
  // Throws description_error.
  explicit fit_plan(const std::filesystem::path& file);

  [[nodiscard]] const std::filesystem::path& file() const { return yaml_.file(); }
  [[nodiscard]] const std::string& preset() const { return preset_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Returns the number of evaluations of a block.
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<fit_block>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<series_choice>& left_out() const { return left_out_; }
  [[nodiscard]] std::size_t constants() const;
  // Throws description_error when a choice has no series in the data, or when there are more constants than series.
  void check(const std::vector<compared_experiment>& data) const;

 private:
  void read_block(const YAML::Node& n);
  [[nodiscard]] fitted_knob read_knob(const std::string& path, const YAML::Node& n) const;
  [[nodiscard]] std::vector<series_choice> read_choices(const YAML::Node& n, const std::string& key) const;

  strict_yaml yaml_;
  std::string preset_;
  std::uint64_t seed_ = 1;
  std::uint64_t evaluations_ = 40;
  std::vector<fit_block> blocks_;
  std::vector<series_choice> left_out_;
};

// Returns the choice that is written "V11" or "V11: PATTERN". Throws std::regex_error.
series_choice choice_of(const std::string& text);
bool in_data(const series_choice& c, const std::vector<compared_experiment>& data);

}  // namespace hcasim
