// A search for the values of some knobs that cost least. A few points are spread over the ranges. From the best of them steps
// follow along one knob at a time, longer after a success and half as long after a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hcasim {

// The values that a knob may take.
struct search_range {
  double from = 0;
  double to = 1;
  double step = 0;  // values are multiples of it above `from`; 0 = any
  bool logarithmic = false;

  // Returns the value at a place from 0 to 1.
  [[nodiscard]] double value_at(double place) const;
  [[nodiscard]] double place_of(double value) const;
};

using search_point = std::vector<double>;  // a value for each range

struct search_result {
  search_point best;
  double cost = 0;
  std::uint64_t evaluations = 0;
};

// Returns the best of at most `evaluations` points, of which `begin` is the first. `cost` gives the costs of several points at
// once, in their order; no point comes twice. The result follows from the arguments alone.
search_result search_pattern(const std::vector<search_range>& ranges, const search_point& begin, std::uint64_t evaluations,
                             std::uint64_t seed,
                             const std::function<std::vector<double>(const std::vector<search_point>&)>& cost);

}  // namespace hcasim
