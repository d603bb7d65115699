// Numbers that a study looks at, taken from what a run found out: a figure, a cell of a table, a statistic, how busy a resource
// was, or a formula over the metrics above it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"

namespace hcasim {

enum class metric_source { figure, statistic, table_cell, resource, formula };

struct metric {
  std::string name;
  std::string title;
  std::string unit;  // given, or of the figure or statistic once a run is there
  metric_source source = metric_source::figure;
  std::string what;   // the figure, unit.statistic, column or formula
  std::string of;     // statistic: count, mean, min, p50, p90, p99, max, peak; empty = its value
  std::string table;  // cell: the table's title; empty = any
  std::string row;    // cell: what stands in the row's first column
  place where;
};

// The data of one run, as the result file keeps it.
struct point_data {                   // NOLINT(bugprone-exception-escape): moving JSON only asserts
  nlohmann::ordered_json figures;     // name: value
  nlohmann::ordered_json tables;      // [{title, columns: [{name, unit}], rows}]
  nlohmann::ordered_json statistics;  // unit: {name: value or {count, mean, ...}}
  nlohmann::ordered_json resources;   // [{unit, resource, utilisation}]
};

// The value, null when the number does not exist in this run (a mean of no samples, division by zero). Throws
// description_error when there is no such figure, statistic or cell, naming what is nearest. `before`: the metrics above.
nlohmann::ordered_json metric_value(const metric& m, const point_data& data,
                                    const std::map<std::string, std::optional<double>>& before);
// All of them, in order.
nlohmann::ordered_json metric_values(const std::vector<metric>& metrics, const point_data& data);

// Names, numbers, + - * / ( ), min(a, b), max(a, b). Throws std::runtime_error on a syntax error or an unknown name.
std::optional<double> evaluate(std::string_view formula, const std::map<std::string, std::optional<double>>& names);

}  // namespace hcasim
