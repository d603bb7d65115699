#include "testbenches/program/study/breakdown.h"

#include <algorithm>
#include <fstream>
#include <numeric>

#include "testbenches/program/description/names.h"
#include "testbenches/program/explanation/commands.h"
#include "testbenches/program/explanation/operations.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/repetition.h"

namespace hcasim {

using nlohmann::ordered_json;

point_breakdown::point_breakdown(const std::vector<metric>& metrics) {
  if (std::none_of(metrics.begin(), metrics.end(), [](const metric& m) { return m.source == metric_source::explain; })) return;
  operations_ = std::make_unique<operation_follower>();
  commands_ = std::make_unique<command_follower>();
}
void point_breakdown::measured_by(const measurement& m) {
  if (operations_) operations_->measured_by(m);
}

point_breakdown::~point_breakdown() = default;

ordered_json point_breakdown::json(const result& r) const {
  ordered_json out = ordered_json::object();
  if (!operations_) return out;
  std::vector<waterfall> all = r.waterfalls();
  if (all.empty()) all = operations_->waterfalls();
  for (const waterfall& w : commands_->waterfalls()) all.push_back(w);
  for (const waterfall& w : all) {
    ordered_json& to = out[w.title.substr(0, w.title.find(':'))];
    to = {{"total", 0.0}, {"steps", ordered_json::array()}};
    for (const waterfall_step& s : w.steps) {
      to["total"] = to["total"].get<double>() + s.nanoseconds;
      to["steps"].push_back({{"unit", s.unit}, {"kind", s.kind}, {"ns", s.nanoseconds}});
    }
  }
  return out;
}

std::string wanted_series(const std::vector<metric>& metrics) {
  std::string out;
  for (const metric& m : metrics) {
    if (m.source == metric_source::series) out += (out.empty() ? "" : ", ") + m.what;
  }
  return out;
}

// Returns the values; of many, means of equal parts.
ordered_json curve_of(const std::vector<double>& values) {
  constexpr std::size_t most = 64;
  ordered_json curve = ordered_json::array();
  const std::size_t parts = std::min(most, values.size());
  for (std::size_t i = 0; i < parts; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * values.size() / parts);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>((i + 1) * values.size() / parts);
    curve.push_back(number(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin)));
  }
  return curve;
}

ordered_json series_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = split(line, ',');
  std::vector<std::vector<double>> columns(names.size());
  std::string from;
  std::string until;
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() < 2) continue;
    if (from.empty()) from = cells[0];
    until = cells[1];
    for (std::size_t i = 2; i < std::min(cells.size(), names.size()); ++i) columns[i].push_back(std::stod(cells[i]));
  }
  ordered_json out = ordered_json::object();
  for (std::size_t i = 2; i < names.size(); ++i) {
    if (columns[i].empty()) continue;
    const spread s = spread_of(columns[i]);
    const auto [least, most] = std::minmax_element(columns[i].begin(), columns[i].end());
    out[names[i].substr(0, names[i].find(" ["))] = {{"mean", number(s.mean)},
                                                    {"first", number(columns[i].front())},
                                                    {"last", number(columns[i].back())},
                                                    {"min", number(*least)},
                                                    {"max", number(*most)},
                                                    {"deviation", number(s.deviation)},
                                                    {"from_ns", std::stod(from)},
                                                    {"until_ns", std::stod(until)},
                                                    {"curve", curve_of(columns[i])}};
  }
  return out;
}

}  // namespace hcasim
