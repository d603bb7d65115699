// An experiment: how the program replays a published measurement. Each series of points becomes a study, whose axis runs over
// the points (docs/fidelity.md has the format).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "testbenches/program/study/strict_yaml.h"
#include "testbenches/program/validation/published.h"

namespace hcasim {

// Limits in the unit of each measure: percent, and octaves for the knee. No value = the measure is not judged.
struct tolerance {
  std::optional<double> mape{};
  std::optional<double> worst{};
  std::optional<double> knee{};
  std::optional<double> asymptote{};

  [[nodiscard]] bool any() const { return mape || worst || knee || asymptote; }
};

using knob_values = std::map<std::string, std::string>;  // constants of a preset, by path within the preset

// A property of a curve's shape.
struct shape_check {
  enum class kind : std::uint8_t {
    ratio,  // y at `to` over y at `from`, near `wanted`
    step,   // y at `to` less y at `from`, near `wanted`
    turns,  // from each x of `pairs` to its partner, y rises or falls as it was measured
    above,  // y of `series` above y of `other` at every x
    flat    // every y within `within` percent of the first
  };
  kind of = kind::ratio;
  std::string series;  // regular expressions
  std::string other;
  double from = 0;
  double to = 0;
  std::optional<double> wanted{};
  std::optional<double> within{};
  std::optional<double> least{};
  std::vector<std::pair<double, double>> pairs{};
};

struct replayed_series {
  std::string pattern;
  std::regex match;
  std::string preset;
  std::string unit;             // of the value
  std::string not_expressible;  // why no run replays the series; empty = one does
  std::optional<tolerance> own;
  YAML::Node base;
  YAML::Node set;
  YAML::Node best_over;
  YAML::Node metrics;
  YAML::Node value;
};

class experiment {
 public:
  // Reads and checks the description. Throws description_error.
  explicit experiment(const std::filesystem::path& file);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::filesystem::path& file() const { return yaml_.file(); }
  [[nodiscard]] const std::vector<std::string>& assumed() const { return assumed_; }
  [[nodiscard]] const std::string& lacks() const { return lacks_; }
  [[nodiscard]] const tolerance& limits() const { return limits_; }
  [[nodiscard]] const std::vector<replayed_series>& series() const { return series_; }
  [[nodiscard]] const std::vector<shape_check>& checks() const { return checks_; }

  // Returns the series that replays the point. Throws description_error at the point's line.
  [[nodiscard]] const replayed_series& replay_of(const published_point& p) const;
  // Returns the study that runs the points, which are of one series; its metric is `value`. `preset`: a name or a file;
  // empty = the defaults.
  [[nodiscard]] std::string study_text(const replayed_series& s, const std::vector<const published_point*>& points,
                                       const std::string& preset) const;

 private:
  void read_series(const YAML::Node& n);
  void read_check(const YAML::Node& n);
  [[nodiscard]] tolerance read_tolerance(const YAML::Node& n) const;
  [[nodiscard]] double number(const YAML::Node& n, const std::string& key) const;
  [[nodiscard]] std::string value_at(const YAML::Node& n, double x, const std::string& key) const;

  strict_yaml yaml_;
  std::string name_;
  std::string title_;
  std::string source_;
  std::string preset_;
  std::string unit_;
  std::string lacks_;
  std::vector<std::string> assumed_;
  tolerance limits_;
  YAML::Node base_;
  std::vector<replayed_series> series_;
  std::vector<shape_check> checks_;
};

// Returns the text with each {formula} replaced by its value; x is the point's. Throws std::runtime_error on a formula that is
// none.
std::string with_values(const std::string& text, double x);

// Returns a number as short as it is exact.
std::string short_number(double v);

}  // namespace hcasim
