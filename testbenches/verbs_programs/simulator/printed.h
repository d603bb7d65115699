// The output of perftest's programs, as figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hcasim::applications {

struct printed_figure {
  std::string name;  // as in the head of the table: bw_average
  std::string unit;
  double value = 0;
};

// Returns the figures of the last line of numbers under a head that begins with "#bytes"; empty = there is none.
std::vector<printed_figure> printed_figures(const std::string& text);

}  // namespace hcasim::applications
