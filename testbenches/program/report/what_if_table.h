// Gains of relieving each resource at the points of a study that asks for it (`what_if:`).
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "testbenches/program/study/results.h"

namespace hcasim {

// [{"point", "axes", "headlines", "binding", "gains", "units"}, ...] in the order of the points; empty = none was tried.
nlohmann::ordered_json what_ifs_of(result_file& results);

// Returns a section of the page; empty when there is nothing to show.
std::string what_if_section(const nlohmann::ordered_json& what_ifs);

}  // namespace hcasim
