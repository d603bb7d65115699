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
// Returns up to five significant digits, thousands in full: 12345678, 1234.5, 0.0012345.
std::string number_text(double v);

// Returns a whole number without a point, so that a count does not read 12.0; null when not finite.
nlohmann::ordered_json number(double v);

// Returns an object with room for so many members. Growth copies all that an object holds, since names cannot be moved.
nlohmann::ordered_json roomy_object(std::size_t members);

// Returns the sum of every counter with one of these names, over all units.
std::uint64_t sum_counters(const std::vector<unit*>& units, const std::vector<std::string>& names);

std::string dump(const nlohmann::ordered_json& j);
std::string compact(const nlohmann::ordered_json& j);  // on one line

}  // namespace hcasim
