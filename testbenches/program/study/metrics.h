// Numbers of a study, taken from the results of a run. A metric is one of `metric_source`; a formula combines earlier metrics,
// axes and knobs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"
#include "tlm/base/knobs.h"

namespace hcasim {

enum class metric_source { figure, statistic, table_cell, resource, cost, explain, series, formula };

struct metric {
  std::string name;
  std::string title;
  std::string unit;  // given, or of the figure or statistic once a run is there
  metric_source source = metric_source::figure;
  std::string what;      // the figure, unit.statistic, column, unit, operation or formula
  std::string of;        // statistic: count, mean, min, p50, p90, p99, max, peak; empty = its value
  std::string table;     // cell: the table's title; empty = any
  std::string step{};    // explain: the unit of a step; empty = the whole operation
  std::string kind{};    // explain: the kind of the step; empty = all kinds
  std::string row;       // cell: content of the row's first column
  bool derived = false;  // an axis computed from others; may stand along a chart
  std::vector<std::pair<std::string, knob_kind>> knobs{};  // formula: its knobs
  place where;
};

// The data of one run, as the result file keeps it.
struct point_data {                      // NOLINT(bugprone-exception-escape): moving JSON only asserts
  nlohmann::ordered_json figures;        // name: value
  nlohmann::ordered_json tables;         // [{title, columns: [{name, unit}], rows}]
  nlohmann::ordered_json statistics;     // unit: {name: value or {count, mean, ...}}
  nlohmann::ordered_json resources;      // [{unit, resource, utilisation}]
  nlohmann::ordered_json cost{};         // unit: bits
  nlohmann::ordered_json breakdown{};    // operation: {total, steps}
  nlohmann::ordered_json series{};       // unit.statistic: {mean, first, ...}
  nlohmann::ordered_json axes{};         // name: number
  nlohmann::ordered_json description{};  // all knobs as text
};

// A metric that the run does not have: a mistake in the study.
class metric_error : public description_error {
 public:
  using description_error::description_error;
};

// Returns the value; null = the number does not exist in this run (a mean of no samples, division by zero, another point's
// node). Throws metric_error when there is no such figure, statistic or cell, with the nearest name. `before`: earlier metrics.
nlohmann::ordered_json metric_value(const metric& m, const point_data& data,
                                    const std::map<std::string, std::optional<double>>& before);
// Returns all values, in order.
nlohmann::ordered_json metric_values(const std::vector<metric>& metrics, const point_data& data);

// Returns the node whose unit the metric reads; empty = it reads no unit of a node.
std::string node_of(const metric& m);

// Throws metric_error for a statistic or a resource that is not among these, with the nearest name. One of a node that the
// machine does not have may be one of another point.
void check_statistics(const std::vector<metric>& metrics, const nlohmann::ordered_json& statistics);
void check_resources(const std::vector<metric>& metrics, const std::vector<std::string>& resources,
                     const nlohmann::ordered_json& statistics);

// Returns the names in a formula, functions left out.
std::vector<std::string> names_in(std::string_view formula);

// Evaluates names, paths of knobs, numbers, + - * / ( ), min(a, b), max(a, b). Throws std::runtime_error on a syntax error or
// an unknown name.
std::optional<double> evaluate(std::string_view formula, const std::map<std::string, std::optional<double>>& names);

}  // namespace hcasim
