#include "testbenches/program/study/selection.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"

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

point_selection::point_selection(const study& s, const std::vector<std::string>& places) : study_(s), wanted_(s.axes().size()) {
  for (const std::string& place : places) {
    const auto equals = place.find('=');
    if (equals == std::string::npos)
      throw input_error(fmt::format("--at {}: an axis and one of its values are expected, --at AXIS=VALUE", place));
    const std::size_t axis = position(
        s.axes(), place.substr(0, equals), [](const study_axis& a) { return a.name; }, place, "axis");
    wanted_[axis].push_back(position(
        s.axes()[axis].values, place.substr(equals + 1), [](const axis_value& v) { return v.label; }, place, "value"));
  }
  for (std::size_t a = 0; a < wanted_.size(); ++a) {
    if (wanted_[a].empty()) {
      wanted_[a].resize(s.axes()[a].values.size());
      std::iota(wanted_[a].begin(), wanted_[a].end(), 0);
    }
    std::sort(wanted_[a].begin(), wanted_[a].end());
    wanted_[a].erase(std::unique(wanted_[a].begin(), wanted_[a].end()), wanted_[a].end());
    if (__builtin_mul_overflow(points_, wanted_[a].size(), &points_)) points_ = ~std::uint64_t{0};
  }
}

bool point_selection::holds(std::uint64_t point) const {
  const auto at = study_.coordinates(point);
  for (std::size_t a = 0; a < at.size(); ++a) {
    if (!std::binary_search(wanted_[a].begin(), wanted_[a].end(), at[a])) return false;
  }
  return true;
}

std::uint64_t point_selection::point(std::uint64_t n) const {
  std::uint64_t point = 0;
  std::uint64_t step = 1;
  for (std::size_t a = wanted_.size(); a-- > 0;) {
    point += step * wanted_[a][n % wanted_[a].size()];
    n /= wanted_[a].size();
    step *= study_.axes()[a].values.size();
  }
  return point + 1;
}

}  // namespace hcasim
