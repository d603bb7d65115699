#include "testbenches/program/validation/fidelity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

std::string error_text(const compared_point& p) {
  if (!p.model) return "-";
  return fmt::format("{:+.1f} %", 100 * p.error());
}

std::string series_table(const compared_series& s) {
  const published_point& first = *s.points.front().published;
  const bool choice = std::any_of(s.points.begin(), s.points.end(), [](const compared_point& p) { return !p.choice.empty(); });
  std::vector<std::vector<std::string>> rows{{first.x_name, fmt::format("published [{}]", first.unit), "model", "error"}};
  if (choice) rows[0].emplace_back("best at");
  for (const compared_point& p : s.points) {
    rows.push_back(
        {short_number(p.published->x), number_text(p.published->y), p.model ? number_text(*p.model) : "-", error_text(p)});
    if (choice) rows.back().push_back(p.choice);
  }
  return fmt::format("  {}\n{}", s.name, aligned(rows, std::vector<bool>(rows[0].size(), true), "    "));
}

std::string judgement_text(const judgement& j) {
  std::string out = fmt::format("  {}MAPE {:.1f} %, worst {:.1f} % at {}, last points {:.1f} %",
                                j.of.empty() ? "" : j.of + ": ", j.mape, j.worst, short_number(j.worst_x), j.asymptote);
  if (j.knee) out += fmt::format(", knee {:.2f} octaves off", *j.knee);
  for (const std::string& o : j.outside) out += fmt::format("\n    outside: {}", o);
  return out + "\n";
}

std::string experiment_text(const compared_experiment& e) {
  std::string out = fmt::format("{} {}\n  {}; preset {}\n", e.of->name(), e.of->title(), e.of->source(),
                                e.preset.empty() ? "none" : e.preset);
  for (const compared_series& s : e.series) {
    out += s.replay->not_expressible.empty() ? series_table(s)
                                             : fmt::format("  {}: not expressible: {}\n", s.name, s.replay->not_expressible);
  }
  for (const judgement& j : e.judgements) out += judgement_text(j);
  for (const checked_shape& c : e.shapes) out += fmt::format("  {}: {}\n", c.ok ? "holds" : "fails", c.text);
  for (const std::string& a : e.of->assumed()) out += fmt::format("  assumed: {}\n", a);
  if (e.result != fidelity_verdict::within && !e.of->lacks().empty()) out += fmt::format("  lacks: {}\n", e.of->lacks());
  return out + fmt::format("  {}; {} constants fitted\n\n", name_of(e.result), e.fitted.size());
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v.size() % 2 != 0 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

std::vector<double> errors_of(const compared_experiment& e) {
  std::vector<double> errors;
  for (const compared_series& s : e.series) {
    for (const compared_point& p : s.points) {
      if (p.model) errors.push_back(100 * std::fabs(p.error()));
    }
  }
  return errors;
}

ordered_json judgement_json(const judgement& j) {
  ordered_json out{{"series", j.of}, {"points", j.points}, {"mape", j.mape}, {"worst", j.worst}, {"asymptote", j.asymptote}};
  out["knee"] = j.knee ? ordered_json(*j.knee) : ordered_json();
  out["outside"] = j.outside;
  return out;
}

}  // namespace

std::string fidelity_text(const fidelity& f) {
  std::string out;
  std::vector<std::vector<std::string>> rows{{"experiment", "preset", "points", "median", "MAPE", "fitted", "verdict"}};
  std::vector<double> medians;
  for (const compared_experiment& e : f.experiments) {
    out += experiment_text(e);
    const std::vector<double> errors = errors_of(e);
    double sum = 0;
    for (const double v : errors) sum += v;
    if (!errors.empty()) medians.push_back(median(errors));
    rows.push_back({e.of->name(), e.preset, std::to_string(errors.size()),
                    errors.empty() ? "-" : fmt::format("{:.1f} %", median(errors)),
                    errors.empty() ? "-" : fmt::format("{:.1f} %", sum / static_cast<double>(errors.size())),
                    std::to_string(e.fitted.size()), name_of(e.result)});
  }
  out += aligned(rows, {false, false, true, true, true, true, false});
  out += fmt::format("median over the experiments {:.1f} %\ndata {} (crc32 {})\n", median(medians), f.data->file.string(),
                     f.data->crc);
  for (const preset_marks& p : f.presets)
    out += fmt::format("preset {} (crc32 {}), {} constants fitted\n", p.name, p.crc, p.fitted.size());
  return out;
}

ordered_json fidelity_json(const fidelity& f) {
  ordered_json out{{"data", f.data->file.string()}, {"crc32", f.data->crc}};
  for (const preset_marks& p : f.presets) out["presets"][p.name] = {{"crc32", p.crc}, {"fitted", p.fitted.size()}};
  for (const compared_experiment& e : f.experiments) {
    ordered_json x{
        {"verdict", name_of(e.result)}, {"preset", e.preset}, {"median", median(errors_of(e))}, {"fitted", e.fitted}};
    for (const judgement& j : e.judgements) x["judgements"].push_back(judgement_json(j));
    for (const checked_shape& c : e.shapes) x["shapes"].push_back({{"text", c.text}, {"holds", c.ok}});
    for (const compared_series& s : e.series) {
      ordered_json points = ordered_json::array();
      for (const compared_point& p : s.points) {
        points.push_back({{"x", p.published->x},
                          {"published", p.published->y},
                          {"model", p.model ? ordered_json(*p.model) : ordered_json()},
                          {"unit", p.published->unit}});
      }
      x["series"].push_back({{"name", s.name}, {"points", std::move(points)}});
    }
    out["experiments"][e.of->name()] = std::move(x);
  }
  return out;
}

}  // namespace hcasim
