// One run with statistics over time, as a page of pictures: its figures, a chart for each statistic of the series, and
// utilisations. A chart has one line for each unit with the statistic. Works from file:// without a network and without a
// charting library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/report/chart_data.h"

namespace hcasim {

// Returns whether the folder holds a run (and not a study).
bool holds_run(const std::filesystem::path& folder);
// Reads charts from the run's statistics.csv. Throws input_error when the run has none, or a damaged one.
std::vector<chart_data> charts_of_run(const std::filesystem::path& folder);
std::string run_page(const std::filesystem::path& folder);
// Returns the name of the run's testbench.
std::string name_of_run(const std::filesystem::path& folder);

}  // namespace hcasim
