// One run with statistics over time, as a page of pictures: its figures, a chart for each statistic of the series (one line for
// each unit that has it), and how busy the resources were. Works from file:// without a network and without a charting library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/report/chart_data.h"

namespace hcasim {

// Whether the folder holds a run (and not a study).
bool holds_run(const std::filesystem::path& folder);
// From the run's statistics.csv. Throws input_error when the run has none, or when it is damaged.
std::vector<chart_data> charts_of_run(const std::filesystem::path& folder);
std::string run_page(const std::filesystem::path& folder);
// Returns the name of the run's testbench.
std::string name_of_run(const std::filesystem::path& folder);

}  // namespace hcasim
