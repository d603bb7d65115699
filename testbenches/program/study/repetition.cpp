#include "testbenches/program/study/repetition.h"

#include <cmath>
#include <map>
#include <numbers>

#include "testbenches/program/results/report.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/study/study.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

// P(|T| <= t), the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
double within(double t, std::size_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double sine = std::sin(angle);
  const double cosine = std::cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = 0;
  for (std::size_t i = odd ? 3 : 2; i <= freedom; i += 2) {
    sum += term;
    const auto k = static_cast<double>(i);
    term *= cosine * cosine * (k - 1) / k;
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

}  // namespace

double student_t95(std::size_t freedom) {
  constexpr double share = 0.95;
  double low = 1.9;
  double high = 13;  // 12.706 with one degree of freedom
  while (high - low > 1e-9) {
    const double t = (low + high) / 2;
    (within(t, freedom) < share ? low : high) = t;
  }
  return low;
}

spread spread_of(const std::vector<double>& values) {
  spread s{values.size()};
  if (values.empty()) return s;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) s.mean += v / n;
  if (values.size() < 2) return s;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation = std::sqrt(squares / (n - 1));
  s.confidence = student_t95(values.size() - 1) * s.deviation / std::sqrt(n);
  return s;
}

std::vector<repetition> repetitions_of(result_file& results, const study& s) {
  std::size_t repeats = 0;
  while (repeats < s.axes().size() && !s.axes()[repeats].repeats) ++repeats;
  std::vector<repetition> out;
  if (repeats == s.axes().size()) return out;
  std::map<std::vector<std::size_t>, std::map<std::string, std::vector<double>>> places;
  results.query("SELECT id, metrics FROM points WHERE status = 'passed' ORDER BY id", [&](const auto& row) {
    auto at = s.coordinates(std::stoull(row[0]));
    at[repeats] = 0;
    auto& place = places[at];
    const ordered_json metrics = ordered_json::parse(row[1]);
    for (const auto& [name, value] : metrics.items()) {
      if (value.is_number()) place[name].push_back(value.template get<double>());
    }
  });
  for (const auto& [at, values] : places) {
    ordered_json axes = ordered_json::object();
    for (std::size_t a = 0; a < at.size(); ++a) {
      if (a != repeats) axes[s.axes()[a].name] = s.axes()[a].values[at[a]].label;
    }
    for (const metric& m : s.metrics()) {
      const auto found = values.find(m.name);
      if (found != values.end()) out.push_back({axes, m.name, spread_of(found->second)});
    }
  }
  return out;
}

std::string repetition_text(const std::vector<repetition>& rows) {
  std::vector<std::vector<std::string>> lines;
  const nlohmann::ordered_json* place = nullptr;
  std::vector<std::string> head;
  for (const repetition& r : rows) {
    if (!place || *place != r.axes) {
      lines.emplace_back();
      for (const auto& [axis, label] : r.axes.items()) lines.back().push_back(label);
      lines.back().push_back(std::to_string(r.over.count));
    }
    place = &r.axes;
    lines.back().push_back(fmt::format("{} \u00b1 {}", number_text(r.over.mean), number_text(r.over.confidence)));
    if (lines.size() == 1) head.push_back(r.metric);
  }
  if (rows.empty()) return "";
  head.insert(head.begin(), "runs");
  std::size_t at = 0;
  for (const auto& [axis, label] : rows.front().axes.items())
    head.insert(head.begin() + static_cast<std::ptrdiff_t>(at++), axis);
  lines.insert(lines.begin(), head);
  return "mean over seeds \u00b1 half the 95 % confidence interval\n" + aligned(lines, std::vector<bool>(head.size(), true));
}

}  // namespace hcasim
