// Gains of relieving each resource at the points of a study with `what_if:`.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "testbenches/program/study/results.h"

namespace hcasim {

// Returns [{"point", "axes", "headlines", "binding", "gains", "units"}, ...] in the order of the points; empty = none was
// tried.
nlohmann::ordered_json what_ifs_of(result_file& results);

// Returns a point's largest gains, [[relieved, change, gain in percent], ...]: resources first, then latencies.
nlohmann::ordered_json largest_gains(const nlohmann::ordered_json& what_if);

// Returns a section of the page; empty when there is nothing to show.
std::string what_if_section(const nlohmann::ordered_json& what_ifs);

}  // namespace hcasim
