// A chart of a study with its numbers, as they are drawn: from the result file, whatever draws it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/study/results.h"

namespace hcasim {

struct chart_series {
  std::string name;
  std::vector<std::optional<double>> values;  // by the values of x
};

struct chart_data {
  std::string kind;  // line, heat, stacked
  std::string title;
  std::string x_title;
  std::vector<std::string> x;  // labels
  std::string series_title;    // heat: of the rows
  std::string y_title;         // with its unit; heat: of the colour
  std::vector<chart_series> series;
  std::string fixed;  // where the other axes stand: "clock = 400 MHz"
};

// A metric's unit: given in the study, or that of its figure or statistic.
std::string unit_of_metric(result_file& results, const std::string& metric);

std::vector<chart_data> charts_of(result_file& results);

}  // namespace hcasim
