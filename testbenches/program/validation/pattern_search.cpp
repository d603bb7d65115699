#include "testbenches/program/validation/pattern_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace hcasim {
namespace {

constexpr double first_step = 0.2;
constexpr double last_step = 0.004;

class searcher {
 public:
  searcher(const std::vector<search_range>& ranges, std::uint64_t evaluations,
           const std::function<std::vector<double>(const std::vector<search_point>&)>& cost)
      : ranges_(ranges), left_(std::max<std::uint64_t>(evaluations, 1)), cost_(cost) {}

  // Asks for the points that are new, as many as may be. Returns whether one of them is better than the best.
  bool ask(const std::vector<search_point>& points) {
    std::vector<search_point> fresh;
    for (const search_point& p : points) {
      if (fresh.size() == left_ || seen_.contains(p) || std::find(fresh.begin(), fresh.end(), p) != fresh.end()) continue;
      fresh.push_back(p);
    }
    if (fresh.empty()) return false;
    left_ -= fresh.size();
    result_.evaluations += fresh.size();
    const std::vector<double> costs = cost_(fresh);
    bool better = false;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      seen_[fresh[i]] = costs[i];
      if (!result_.best.empty() && !(costs[i] < result_.cost)) continue;
      result_.best = fresh[i];
      result_.cost = costs[i];
      better = true;
    }
    return better;
  }

  // Points spread over the ranges, each knob's place once in each of as many equal parts.
  void spread(std::uint64_t number, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<search_point> points(number, search_point(ranges_.size()));
    std::vector<std::uint64_t> parts(number);
    for (std::size_t k = 0; k < ranges_.size(); ++k) {
      for (std::uint64_t i = 0; i < number; ++i) parts[i] = i;
      for (std::uint64_t i = number; i > 1; --i) std::swap(parts[i - 1], parts[random() % i]);
      for (std::uint64_t i = 0; i < number; ++i)
        points[i][k] = ranges_[k].value_at((static_cast<double>(parts[i]) + 0.5) / static_cast<double>(number));
    }
    ask(points);
  }

  void descend() {
    std::vector<double> steps(ranges_.size(), first_step);
    while (left_ != 0) {
      bool any = false;
      for (std::size_t k = 0; k < ranges_.size() && left_ != 0; ++k) {
        if (steps[k] < last_step) continue;
        any = true;
        const bool better = ask({moved(k, steps[k]), moved(k, -steps[k])});
        steps[k] = better ? std::min(0.4, steps[k] * 1.5) : steps[k] / 2;
      }
      if (!any) return;
    }
  }

  [[nodiscard]] const search_result& result() const { return result_; }
  [[nodiscard]] std::uint64_t left() const { return left_; }

 private:
  [[nodiscard]] search_point moved(std::size_t k, double by) const {
    search_point p = result_.best;
    p[k] = ranges_[k].value_at(ranges_[k].place_of(p[k]) + by);
    return p;
  }

  const std::vector<search_range>& ranges_;
  std::uint64_t left_;
  const std::function<std::vector<double>(const std::vector<search_point>&)>& cost_;
  std::map<search_point, double> seen_;
  search_result result_;
};

}  // namespace

double search_range::value_at(double place) const {
  const double at = std::clamp(place, 0.0, 1.0);
  const double v = logarithmic ? from * std::pow(to / from, at) : from + (to - from) * at;
  if (step <= 0) return v;
  const double last = std::floor((to - from) / step + 1e-9);
  return from + step * std::min(last, std::round((v - from) / step));
}

double search_range::place_of(double value) const {
  if (from == to) return 0;
  return logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
}

search_result search_pattern(const std::vector<search_range>& ranges, const search_point& begin, std::uint64_t evaluations,
                             std::uint64_t seed,
                             const std::function<std::vector<double>(const std::vector<search_point>&)>& cost) {
  searcher s(ranges, evaluations, cost);
  s.ask({begin});
  s.spread(std::min(s.left(), std::min<std::uint64_t>(2 * ranges.size(), evaluations / 4)), seed);
  s.descend();
  return s.result();
}

}  // namespace hcasim
