// A chart of a study with its numbers, as they are drawn: from the result file, whatever draws it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/study/results.h"

namespace hcasim {

struct chart_series {
  std::string name;
  std::vector<std::optional<double>> values;  // one for each value of x
  // Half the 95 % confidence interval of a mean over seeds; empty = a value is of one point.
  std::vector<std::optional<double>> errors{};
};

struct chart_data {
  std::string kind;  // line, heat, stacked, tornado
  std::string title;
  std::string x_title;
  std::vector<std::string> x;  // labels; tornado: the knobs, the one with the largest effect first
  std::string series_title;    // heat: of the rows
  std::string y_title;         // with its unit; heat: of the colour
  std::vector<chart_series> series;
  std::string fixed;  // where the other axes stand: "clock = 400 MHz"
};

// Returns a metric's unit: given in the study, or taken from its figure or statistic.
std::string unit_of_metric(result_file& results, const std::string& metric);

// Draws what the page's own charts cannot: x that is derived, means over seeds, a tornado.
bool needs_picture(result_file& results, const std::string& kind, const std::string& x);

std::vector<chart_data> charts_of(result_file& results);

}  // namespace hcasim
