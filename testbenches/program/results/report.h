// Results as JSON and as readable text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/results/result.h"
#include "tlm/base/unit.h"

namespace hcasim {

nlohmann::ordered_json result_json(const result& r);
// Figures and tables, aligned.
std::string result_text(const result& r);

// Columns padded to their widest cell (in characters, not bytes); numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                    std::string_view indent = "  ");
// Up to five significant digits, thousands in full: 12345678, 1234.5, 0.0012345.
std::string number_text(double v);

// A whole number is written as one, so that a count does not read 12.0; what is none is null.
nlohmann::ordered_json number(double v);

// Sum of every counter that has one of these names, over all units.
std::uint64_t sum_counters(const std::vector<unit*>& units, const std::vector<std::string>& names);

std::string dump(const nlohmann::ordered_json& j);
std::string compact(const nlohmann::ordered_json& j);  // on one line

}  // namespace hcasim
