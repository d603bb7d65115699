// A study: one description, axes along which it varies, and metrics (docs/studies.md has the format). The points are the
// product of the axes, the last axis fastest; point numbers begin at 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/execution/platform.h"
#include "testbenches/program/study/goal.h"
#include "testbenches/program/study/metrics.h"
#include "testbenches/program/study/tornado.h"

namespace hcasim {

struct axis_value {
  std::string label;                                          // text for display: "64 KiB"
  nlohmann::ordered_json number;                              // in the base unit of the knob's kind; null = a name
  std::vector<std::pair<std::string, std::string>> settings;  // key path, value
};

struct study_axis {
  std::string name;
  std::string title;
  std::string unit;  // unit of the numbers: "", "B", "ps", "Hz", "b/s", "cycles"
  bool logarithmic = false;
  bool repeats = false;  // the values are seeds: charts and tables show means over them
  std::vector<axis_value> values;
  place where;
};

enum class chart_kind : std::uint8_t { line, heat, stacked, tornado };

struct study_chart {
  chart_kind kind = chart_kind::line;
  std::string title;
  std::string x;       // an axis or a derived one; tornado: empty
  std::string series;  // line: an axis, or empty; heat: the axis of the rows
  std::vector<std::pair<std::string, std::string>>
      at;                            // name and label of other axes; axes not given stay at their first value
  std::vector<std::string> metrics;  // heat: one; line: one, or several without series
};

class study {
 public:
  static constexpr std::uint64_t many_points = 100'000;

  // Reads and checks everything that can be without a run: keys, knobs, every value of every axis. Throws description_error.
  study(const std::filesystem::path& file, platform_factory machine);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& question() const { return question_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<study_axis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return metrics_; }
  [[nodiscard]] const std::vector<study_chart>& charts() const { return charts_; }
  // Returns the pattern of the resources that are relieved at each point, as of `hcasim run --what-if`; nothing = none is.
  [[nodiscard]] const std::optional<std::string>& what_if_pattern() const { return what_if_; }
  // Returns the knobs of a tornado; no arms = none.
  [[nodiscard]] const study_tornado& tornado() const { return tornado_; }
  // Returns the goal; nothing = every point runs.
  [[nodiscard]] const std::optional<study_goal>& goal() const { return goal_; }
  // Saturates at 2^64 - 1.
  [[nodiscard]] std::uint64_t points() const;

  // Returns the index of the value on each axis.
  [[nodiscard]] std::vector<std::size_t> coordinates(std::uint64_t point) const;
  [[nodiscard]] description describe(std::uint64_t point) const;
  // Returns the numbers of a point's values by axis; null = a name.
  [[nodiscard]] nlohmann::ordered_json numbers(std::uint64_t point) const;
  // Returns everything that decides the points: studies with the same text here have the same points.
  [[nodiscard]] std::string fingerprint() const;

 private:
  struct reader;

  std::filesystem::path file_;
  std::string text_;
  std::string name_;
  std::string question_;
  description base_;
  std::vector<study_axis> axes_;
  std::vector<metric> metrics_;
  std::vector<study_chart> charts_;
  std::optional<std::string> what_if_;
  study_tornado tornado_;
  std::optional<study_goal> goal_;
};

// Returns whether the file is a study (it has `axes`) and not a plain description.
bool is_study(const std::filesystem::path& file);

}  // namespace hcasim
