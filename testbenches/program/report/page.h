// One self-contained HTML page about a study. It has charts with hover values and a choice of axes, a table, and the busiest
// resource of each point. It also has the resolved description, and a second result file to compare with. Works from file://
// without a network.
#pragma once

#include <string>

#include "testbenches/program/study/results.h"

namespace hcasim {

// Reads a part of pages from share/hcasim/report; throws input_error. report_page: `other` null = no comparison, else results
// over the same axes. Throws input_error when the axes differ or the build has no charting library.
std::string asset(const std::string& name);

std::string report_page(result_file& results, result_file* other);

}  // namespace hcasim
