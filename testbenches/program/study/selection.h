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
  // `places`: "AXIS=LABEL". Of an axis that is named the labels given, of another one all. Throws input_error when there is no
  // such axis or label. Without places: every point.
  point_selection(const study& s, const std::vector<std::string>& places);

  [[nodiscard]] bool holds(std::uint64_t point) const;
  // Points of the study that it holds; saturates as study::points.
  [[nodiscard]] std::uint64_t points() const { return points_; }
  // The n-th of them, from 0 on; they ascend.
  [[nodiscard]] std::uint64_t point(std::uint64_t n) const;

 private:
  const study& study_;
  std::vector<std::vector<std::size_t>> wanted_;  // of each axis, places of its values, ascending
  std::uint64_t points_ = 1;
};

}  // namespace hcasim
