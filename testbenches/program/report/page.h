// One self-contained HTML page about a study: charts with hover values and a choice of axes, a table, the busiest resource of
// each point, the resolved description, and a second result file to compare with. Works from file:// without a network.
#pragma once

#include <string>

#include "testbenches/program/study/results.h"

namespace hcasim {

// `other`: null, or results over the same axes. Throws input_error when the axes differ or the build has no charting library.
// Reads a file that pages are made of; throws input_error.
std::string asset(const std::string& file);

std::string report_page(result_file& results, result_file* other);

}  // namespace hcasim
