// A chart as an SVG picture, without a browser. The same data give the same bytes. ECharts on Node was tried. Its pictures are
// as good to look at, but have no values under the mouse and take seven times the bytes. They need Node where the program runs.
#pragma once

#include <string>

#include "testbenches/program/report/chart_data.h"

namespace hcasim {

// Returns text that may stand between tags.
std::string escaped(const std::string& s);
std::string svg_chart(const chart_data& chart);

}  // namespace hcasim
