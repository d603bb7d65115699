// A chart as an SVG picture, without a browser. The same data give the same bytes.
#pragma once

#include <string>

#include "testbenches/program/report/chart_data.h"

namespace hcasim {

// Text that may stand between tags.
std::string escaped(const std::string& s);
std::string svg_chart(const chart_data& chart);

}  // namespace hcasim
