// Goal seeking: the largest or smallest value of an axis whose metric keeps a limit, found by bisection over the axis' values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/study/strict_yaml.h"

namespace hcasim {

class study;
struct metric;
struct study_axis;

struct study_goal {
  std::size_t axis = 0;
  bool largest = true;
  std::string metric;
  bool below = true;
  double limit = 0;

  [[nodiscard]] bool holds(double v) const { return below ? v < limit : v > limit; }
};

// Reads `{largest: AXIS, metric: METRIC, below: LIMIT}`, or smallest and above.
study_goal read_goal(const strict_yaml& yaml, const YAML::Node& n, const std::vector<study_axis>& axes,
                     const std::vector<metric>& metrics);

// Chooses the points that must run, in rounds: the ends of the axis first, then the middle of what is left. Each place of the
// other axes has a search of its own. Which points run does not depend on how many run at once.
class goal_seeker {
 public:
  explicit goal_seeker(const study& s);

  // Leaves out a place of the other axes, named by any of its points.
  void keep_only(const std::function<bool(std::uint64_t)>& wanted);
  // Returns the points whose values the searches need next; empty = all have ended.
  [[nodiscard]] std::vector<std::uint64_t> next() const;
  // Takes a point's value of the metric; null = the point failed or has none, and does not keep the limit.
  void take(std::uint64_t id, std::optional<double> value);
  // Returns how many points the searches take at most.
  [[nodiscard]] std::uint64_t most() const;

  // Returns [{"axes", "value", "metric", "next", ...}], a search each.
  [[nodiscard]] nlohmann::ordered_json json() const;
  [[nodiscard]] std::string text() const;

 private:
  // Positions count from the side where the limit should hold: position 0 is the smallest value for `largest`.
  struct search {
    std::uint64_t first = 0;                                // id of the point at index 0
    std::map<std::size_t, std::optional<double>> values{};  // by position
  };
  [[nodiscard]] std::uint64_t id_of(const search& s, std::size_t position) const;
  [[nodiscard]] std::size_t index_of(std::size_t position) const;
  [[nodiscard]] bool holds(const search& s, std::size_t position) const;
  [[nodiscard]] std::optional<std::size_t> wanted(const search& s) const;
  [[nodiscard]] std::optional<std::size_t> answer(const search& s) const;
  [[nodiscard]] std::string not_monotonic(const search& s) const;
  [[nodiscard]] const std::string& label(std::size_t position) const;

  const study& study_;
  std::size_t count_;     // values of the axis
  std::uint64_t stride_;  // from one value to the next, in ids
  std::vector<search> searches_;
};

}  // namespace hcasim
