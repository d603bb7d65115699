#include "testbenches/program/validation/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hcasim {
namespace {

double model_of(const compared_point& p) {
  return *p.model;
}
double published_of(const compared_point& p) {
  return p.published->y;
}

void add_series(judgement& j, const compared_series& s) {
  for (const compared_point& p : s.points) {
    const double error = 100 * std::fabs(p.error());
    j.mape += error;
    ++j.points;
    if (error < j.worst) continue;
    j.worst = error;
    j.worst_x = p.published->x;
  }
  j.asymptote = std::max(j.asymptote, 100 * std::fabs(s.points.back().error()));
  const auto published = knee_of(s, published_of);
  if (!published) return;
  const auto model = knee_of(s, model_of);
  // A model without the knee has it at the last point at the earliest.
  const double at = model.value_or(std::log2(s.points.back().published->x));
  j.knee = std::max(j.knee.value_or(0), std::fabs(at - *published));
}

void finish(judgement& j) {
  if (j.points != 0) j.mape /= static_cast<double>(j.points);
  const auto hold = [&j](const char* what, double value, const std::optional<double>& limit, const char* unit) {
    if (limit && value > *limit) j.outside.push_back(fmt::format("{} {:.2f}{} > {}{}", what, value, unit, *limit, unit));
  };
  hold("MAPE", j.mape, j.limits.mape, " %");
  hold("worst", j.worst, j.limits.worst, " %");
  hold("asymptote", j.asymptote, j.limits.asymptote, " %");
  if (j.knee) hold("knee", *j.knee, j.limits.knee, " octaves");
}

const compared_series* series_like(const compared_experiment& e, const std::string& pattern) {
  const std::regex match(pattern);
  const auto found = std::find_if(e.series.begin(), e.series.end(),
                                  [&](const compared_series& s) { return std::regex_search(s.name, match) && s.complete(); });
  return found == e.series.end() ? nullptr : &*found;
}

const compared_point* point_at(const compared_series& s, double x) {
  const auto found =
      std::find_if(s.points.begin(), s.points.end(), [&](const compared_point& p) { return p.published->x == x; });
  return found == s.points.end() ? nullptr : &*found;
}

// A ratio or a difference between two points of a series.
void check_two(const compared_series& s, const shape_check& c, std::vector<checked_shape>& to) {
  const compared_point* a = point_at(s, c.from);
  const compared_point* b = point_at(s, c.to);
  if (!a || !b) return;
  const bool ratio = c.of == shape_check::kind::ratio;
  const auto value = [&](double from, double upto) { return ratio ? upto / from : upto - from; };
  const double model = value(*a->model, *b->model);
  const double published = value(a->published->y, b->published->y);
  bool ok = true;
  double off = 0;
  std::string wanted;
  if (c.wanted) {
    const double apart = std::fabs(model - *c.wanted), allowed = c.within.value_or(0);
    ok = apart <= allowed;
    off = allowed > 0 ? apart / allowed : apart > 0 ? 1 : 0;
    wanted = fmt::format("; wanted {} +- {}", *c.wanted, c.within.value_or(0));
  }
  if (c.least) {
    ok = ok && model >= *c.least;
    if (!ok) off = std::max(off, 1.0);
    wanted += fmt::format("; wanted {} at least", *c.least);
  }
  to.push_back({fmt::format("{} of {} from {} to {}: published {:.2f}, model {:.2f}{}", ratio ? "ratio" : "step", s.name,
                            short_number(c.from), short_number(c.to), published, model, wanted),
                ok, off});
}

// The two go the same way where the measured difference is beyond its own error of 2 %.
void check_turns(const compared_series& s, const shape_check& c, std::vector<checked_shape>& to) {
  constexpr double same = 0.02;
  std::vector<std::string> wrong;
  std::size_t seen = 0;
  for (const auto& [from, upto] : c.pairs) {
    const compared_point* a = point_at(s, from);
    const compared_point* b = point_at(s, upto);
    if (!a || !b) continue;
    ++seen;
    const double published = b->published->y / a->published->y - 1;
    const double model = *b->model / *a->model - 1;
    const auto direction = [](double d) { return std::fabs(d) < same ? 0 : d > 0 ? 1 : -1; };
    if (direction(published) != direction(model))
      wrong.push_back(fmt::format("{} to {} (published {:+.1f} %, model {:+.1f} %)", short_number(from), short_number(upto),
                                  100 * published, 100 * model));
  }
  if (seen == 0) return;
  to.push_back({fmt::format("{} steps of {} go as measured{}", seen, s.name,
                            wrong.empty() ? "" : fmt::format("; not {}", fmt::join(wrong, ", "))),
                wrong.empty()});
}

void check_above(const compared_series& s, const compared_series& other, std::vector<checked_shape>& to) {
  std::vector<std::string> wrong;
  std::size_t seen = 0;
  for (const compared_point& p : s.points) {
    const compared_point* q = point_at(other, p.published->x);
    if (!q) continue;
    ++seen;
    if (*p.model <= *q->model) wrong.push_back(short_number(p.published->x));
  }
  if (seen == 0) return;
  to.push_back({fmt::format("{} above {} at {} points{}", s.name, other.name, seen,
                            wrong.empty() ? "" : fmt::format("; not at {}", fmt::join(wrong, ", "))),
                wrong.empty()});
}

void check_flat(const compared_series& s, const shape_check& c, std::vector<checked_shape>& to) {
  double most = 0;
  for (const compared_point& p : s.points) most = std::max(most, 100 * std::fabs(*p.model / *s.points.front().model - 1));
  const double allowed = c.within.value_or(5);
  to.push_back(
      {fmt::format("{} is flat: at most {:.1f} % from its first point; allowed {} %", s.name, most, allowed), most <= allowed});
}

void check_shapes(compared_experiment& e) {
  for (const shape_check& c : e.of->checks()) {
    const compared_series* s = series_like(e, c.series);
    if (!s) continue;
    switch (c.of) {
      case shape_check::kind::ratio:
      case shape_check::kind::step:
        check_two(*s, c, e.shapes);
        break;
      case shape_check::kind::turns:
        check_turns(*s, c, e.shapes);
        break;
      case shape_check::kind::above:
        if (const compared_series* other = series_like(e, c.other)) check_above(*s, *other, e.shapes);
        break;
      case shape_check::kind::flat:
        check_flat(*s, c, e.shapes);
        break;
    }
  }
}

}  // namespace

const char* name_of(fidelity_verdict v) {
  return v == fidelity_verdict::within ? "within" : v == fidelity_verdict::outside ? "outside" : "not expressible";
}

bool compared_series::complete() const {
  return !points.empty() &&
         std::all_of(points.begin(), points.end(), [](const compared_point& p) { return p.model.has_value(); });
}

std::optional<double> knee_of(const compared_series& s, const std::function<double(const compared_point&)>& y) {
  const double first = y(s.points.front());
  for (std::size_t i = 1; i < s.points.size(); ++i) {
    const double b = y(s.points[i]);
    if (std::fabs(b / first - 1) <= 0.1) continue;
    const double a = y(s.points[i - 1]);
    const double limit = first * (b > first ? 1.1 : 0.9);
    const double from = std::log2(s.points[i - 1].published->x);
    const double to = std::log2(s.points[i].published->x);
    return a == b ? to : from + (to - from) * std::clamp((limit - a) / (b - a), 0.0, 1.0);
  }
  return std::nullopt;
}

void judge(compared_experiment& e) {
  judgement whole{.of = "", .limits = e.of->limits()};
  bool expressible = true;
  bool ran = true;
  for (const compared_series& s : e.series) {
    if (!s.complete()) {
      (s.replay->not_expressible.empty() ? ran : expressible) = false;
      continue;
    }
    if (!s.replay->own) {
      add_series(whole, s);
      continue;
    }
    judgement own{.of = s.name, .limits = *s.replay->own};
    add_series(own, s);
    finish(own);
    e.judgements.push_back(std::move(own));
  }
  finish(whole);
  if (whole.points != 0) e.judgements.insert(e.judgements.begin(), std::move(whole));
  check_shapes(e);
  const bool good =
      ran && std::all_of(e.judgements.begin(), e.judgements.end(), [](const judgement& j) { return j.outside.empty(); }) &&
      std::all_of(e.shapes.begin(), e.shapes.end(), [](const checked_shape& s) { return s.ok; });
  e.result = !good ? fidelity_verdict::outside : expressible ? fidelity_verdict::within : fidelity_verdict::not_expressible;
}

}  // namespace hcasim
