// hcasim sweep --at AXIS=VALUE: a part of a study's points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "testbenches/program/study/study.h"

namespace hcasim {

class point_selection {
 public:
  // Selects points by `places`: "AXIS=LABEL". A named axis is limited to the given labels, another one is not limited. Without
  // places: every point. Throws input_error when there is no such axis or label.
  point_selection(const study& s, const std::vector<std::string>& places);

  [[nodiscard]] bool holds(std::uint64_t point) const;
  // Returns the number of selected points; saturates like study::points.
  [[nodiscard]] std::uint64_t points() const { return points_; }
  // Returns the n-th selected point, from 0 on, in ascending order.
  [[nodiscard]] std::uint64_t point(std::uint64_t n) const;

 private:
  const study& study_;
  std::vector<std::vector<std::size_t>> wanted_;  // for each axis, places of its values, ascending
  std::uint64_t points_ = 1;
};

}  // namespace hcasim
