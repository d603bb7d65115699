// The counts of a whole run from its result: of the measured part and of the set-up.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace hcasim {

namespace detail {
// In one of both: a count, or the sum of a histogram's samples.
inline double gathered(const nlohmann::json& statistic) {
  if (statistic.is_number()) return statistic;
  if (statistic.contains("value")) return statistic["value"];
  const double count = statistic["count"];
  return count > 0 ? count * statistic["mean"].get<double>() : 0;
}
}  // namespace detail

// 0 when there is no such unit.
inline double in_whole_run(const nlohmann::json& result, const std::string& unit, const std::string& statistic) {
  if (!result["statistics"].contains(unit)) return 0;
  const nlohmann::json& set_up = result["set_up"];
  return detail::gathered(result["statistics"][unit][statistic]) +
         (set_up.contains("statistics") ? detail::gathered(set_up["statistics"][unit][statistic]) : 0);
}

}  // namespace hcasim
