// Numbers of a study, taken from the results of a run. A metric is a figure, a cell of a table, a statistic, a resource's
// utilisation, or a formula over earlier metrics.
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
  std::string row;    // cell: content of the row's first column
  place where;
};

// The data of one run, as the result file keeps it.
struct point_data {                   // NOLINT(bugprone-exception-escape): moving JSON only asserts
  nlohmann::ordered_json figures;     // name: value
  nlohmann::ordered_json tables;      // [{title, columns: [{name, unit}], rows}]
  nlohmann::ordered_json statistics;  // unit: {name: value or {count, mean, ...}}
  nlohmann::ordered_json resources;   // [{unit, resource, utilisation}]
};

// A metric that the run does not have: a mistake in the study.
class metric_error : public description_error {
 public:
  using description_error::description_error;
};

// Returns the value; null = the number does not exist in this run (a mean of no samples, division by zero). Throws
// metric_error when there is no such figure, statistic or cell, with the nearest name. `before`: earlier metrics.
nlohmann::ordered_json metric_value(const metric& m, const point_data& data,
                                    const std::map<std::string, std::optional<double>>& before);
// Returns all values, in order.
nlohmann::ordered_json metric_values(const std::vector<metric>& metrics, const point_data& data);

// Throws metric_error for a statistic or a resource that is not among these, with the nearest name.
void check_statistics(const std::vector<metric>& metrics, const nlohmann::ordered_json& statistics);
void check_resources(const std::vector<metric>& metrics, const std::vector<std::string>& resources);

// Names, numbers, + - * / ( ), min(a, b), max(a, b). Throws std::runtime_error on a syntax error or an unknown name.
std::optional<double> evaluate(std::string_view formula, const std::map<std::string, std::optional<double>>& names);

}  // namespace hcasim
