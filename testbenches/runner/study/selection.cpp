#include "testbenches/runner/study/selection.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "testbenches/runner/description/errors.h"
#include "testbenches/runner/description/names.h"

namespace hcasim {
namespace {

template <class Range, class Name>
std::size_t position(const Range& in, const std::string& wanted, Name name, const std::string& place, const std::string& kind) {
  std::vector<std::string> names;
  std::transform(in.begin(), in.end(), std::back_inserter(names), name);
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error(fmt::format("--at {}: there is no {} '{}'; {}", place, kind, wanted,
                                suggestion(wanted, names, kind == "axis" ? "axes" : "values")));
}

}  // namespace

point_selection::point_selection(const study& s, const std::vector<std::string>& places)
    : study_(s), wanted_(s.axes().size()), points_(s.points()) {
  for (const std::string& place : places) {
    const auto equals = place.find('=');
    if (equals == std::string::npos)
      throw input_error(fmt::format("--at {}: an axis and one of its values are expected, --at AXIS=VALUE", place));
    const std::size_t axis = position(
        s.axes(), place.substr(0, equals), [](const study_axis& a) { return a.name; }, place, "axis");
    const std::vector<axis_value>& values = s.axes()[axis].values;
    wanted_[axis].resize(values.size());
    wanted_[axis][position(
        values, place.substr(equals + 1), [](const axis_value& v) { return v.label; }, place, "value")] = true;
  }
  if (places.empty()) return;
  points_ = 1;
  for (std::size_t a = 0; a < wanted_.size(); ++a) {
    const auto values = wanted_[a].empty() ? s.axes()[a].values.size()
                                           : static_cast<std::size_t>(std::count(wanted_[a].begin(), wanted_[a].end(), true));
    if (__builtin_mul_overflow(points_, values, &points_)) points_ = ~std::uint64_t{0};
  }
}

bool point_selection::holds(std::uint64_t point) const {
  const auto at = study_.coordinates(point);
  for (std::size_t a = 0; a < at.size(); ++a) {
    if (!wanted_[a].empty() && !wanted_[a][at[a]]) return false;
  }
  return true;
}

}  // namespace hcasim
