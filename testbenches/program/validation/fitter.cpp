#include "testbenches/program/validation/fitter.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/program/validation/fit.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

constexpr double cost_of_failure = 1000;

std::string text_of(const knob_values& knobs) {
  std::vector<std::string> out;
  for (const auto& [path, value] : knobs) out.push_back(fmt::format("{} {}", path, value));
  return fmt::format("{}", fmt::join(out, ", "));
}

double excess(double value, const std::optional<double>& limit) {
  return limit ? std::max(0.0, value / *limit - 1) : 0;
}

double cost_of_judgement(const judgement& j) {
  const double scale = j.limits.mape ? *j.limits.mape : j.limits.worst ? *j.limits.worst / 2 : 10;
  // Points do not count where only the shape of a curve has a tolerance: their common offset is taken for the set-up's.
  const bool by_points = j.limits.mape || j.limits.worst || !j.limits.any();
  return (by_points ? j.mape / scale : 0) + excess(j.mape, j.limits.mape) + excess(j.worst, j.limits.worst) +
         excess(j.asymptote, j.limits.asymptote) + excess(j.knee.value_or(0), j.limits.knee);
}

}  // namespace

double cost_of(const compared_experiment& e) {
  for (const compared_series& s : e.series) {
    if (!s.complete()) return cost_of_failure;
  }
  double sum = 0;
  std::size_t judged = 0;
  for (const judgement& j : e.judgements) {
    if (!j.of.empty() && !j.limits.any()) continue;
    sum += cost_of_judgement(j);
    ++judged;
  }
  double off = 0;
  for (const checked_shape& s : e.shapes) off += s.off;
  return (judged ? sum / static_cast<double>(judged) : 0) + (e.shapes.empty() ? 0 : off / static_cast<double>(e.shapes.size()));
}

std::vector<compared_experiment> fitter::selected(const series_filter& wanted) const {
  std::vector<compared_experiment> out;
  for (const compared_experiment& e : data_) {
    compared_experiment some{.of = e.of, .preset = ""};
    for (const compared_series& s : e.series) {
      if (s.replay->not_expressible.empty() && wanted(e.of->name(), s.name)) some.series.push_back(s);
    }
    if (!some.series.empty()) out.push_back(std::move(some));
  }
  return out;
}

std::vector<std::vector<compared_experiment>> fitter::runs(const series_filter& wanted, const std::vector<knob_values>& sets) {
  const fs::path folder = around_.folder / fmt::format("batch_{}", ++batches_);
  fs::create_directories(folder);
  std::vector<std::vector<compared_experiment>> all(sets.size(), selected(wanted));
  {
    replay r(folder, "", around_.machine);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      for (compared_experiment& e : all[i]) {
        for (compared_series& s : e.series) r.add(*e.of, s, sets[i]);
      }
    }
    if (!r.run(around_.jobs, around_.stop_fd)) throw fit_interrupted{};
  }
  fs::remove_all(folder);
  for (auto& set : all) {
    for (compared_experiment& e : set) judge(e);
  }
  return all;
}

knob_values fitter::fit_block_values(const fit_block& b, const series_filter& wanted, const knob_values& frozen) {
  std::vector<search_range> ranges;
  search_point begin;
  for (const fitted_knob& k : b.knobs) {
    ranges.push_back(k.range);
    begin.push_back(k.begin);
  }
  std::uint64_t number = 0;
  const auto costs = [&](const std::vector<search_point>& points) {
    std::vector<knob_values> sets;
    for (const search_point& p : points) {
      sets.push_back(frozen);
      for (const auto& [path, value] : b.values(p)) sets.back()[path] = value;
    }
    std::vector<double> out;
    const auto all = runs(wanted, sets);
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::string each;
      double sum = 0;
      for (const compared_experiment& e : all[i]) {
        const double c = cost_of(e);
        sum += c;
        each += fmt::format(" {} {:.3f}", e.of->name(), c);
      }
      out.push_back(all[i].empty() ? 0 : sum / static_cast<double>(all[i].size()));
      around_.log(fmt::format("  {:3} cost {:.4f} ({} ): {}", ++number, out.back(), each, text_of(b.values(points[i]))));
    }
    return out;
  };
  const search_result r = search_pattern(ranges, begin, evaluations_, seed_, costs);
  knob_values best = b.values(r.best);
  around_.log(fmt::format("  best of {}: cost {:.4f}: {}", r.evaluations, r.cost, text_of(best)));
  return best;
}

std::vector<knob_values> fitter::fit(const series_choice* left_out, const std::vector<knob_values>& known) {
  const auto is_left_out = [&](const std::string& e, const std::string& s) { return left_out && left_out->has(e, s); };
  std::vector<knob_values> out;
  knob_values frozen;
  bool as_known = !known.empty();
  for (std::size_t i = 0; i < plan_.blocks().size(); ++i) {
    const fit_block& b = plan_.blocks()[i];
    const auto wanted = [&](const std::string& e, const std::string& s) { return b.has(e, s) && !is_left_out(e, s); };
    const auto touched = [&](const std::string& e, const std::string& s) { return b.has(e, s) && is_left_out(e, s); };
    as_known = as_known && selected(touched).empty();
    around_.log(fmt::format("block {}, fitted to {}", b.name, b.experiments()));
    if (as_known) {
      out.push_back(known[i]);
      around_.log("  as in the fit with all series");
    } else if (selected(wanted).empty()) {
      out.emplace_back();
      around_.log("  all its series are left out: the preset's values stay");
    } else {
      out.push_back(fit_block_values(b, wanted, frozen));
    }
    for (const auto& [path, value] : out.back()) frozen[path] = value;
  }
  return out;
}

fitter::series_errors fitter::errors(const knob_values& knobs) {
  const auto wanted = [&](const std::string& e, const std::string& s) {
    const auto has = [&](const auto& c) { return c.has(e, s); };
    return std::any_of(plan_.blocks().begin(), plan_.blocks().end(), has) ||
           std::any_of(plan_.left_out().begin(), plan_.left_out().end(), has);
  };
  series_errors out;
  const std::vector<std::vector<compared_experiment>> all = runs(wanted, {knobs});
  for (const compared_experiment& e : all.front()) {
    for (const compared_series& s : e.series) {
      if (!s.complete()) continue;
      double sum = 0;
      for (const compared_point& p : s.points) sum += 100 * std::fabs(p.error());
      out[e.of->name() + " " + s.name] = sum / static_cast<double>(s.points.size());
    }
  }
  return out;
}

}  // namespace hcasim
