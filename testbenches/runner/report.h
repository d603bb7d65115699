// Results and statistics as JSON and as readable text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/base/unit.h"
#include "testbenches/runner/result.h"

namespace hcasim {

// {"node0.hca.key_check": {"verdicts": {"unit": "1", "value": 12, "help": "..."}}}. Histograms of time are in ns.
nlohmann::ordered_json statistics_json(const std::vector<unit*>& units, ps end);
std::string statistics_text(const std::vector<unit*>& units, ps end);

nlohmann::ordered_json result_json(const result& r);
// Figures and tables, aligned.
std::string result_text(const result& r);

// Columns padded to their widest cell (in characters, not bytes); numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                    std::string_view indent = "  ");
// Up to five significant digits, thousands in full: 12345678, 1234.5, 0.0012345.
std::string number_text(double v);

// Sum of every counter that has one of these names, over all units.
std::uint64_t sum_counters(const std::vector<unit*>& units, const std::vector<std::string>& names);

std::string dump(const nlohmann::ordered_json& j);
std::string compact(const nlohmann::ordered_json& j);  // on one line

}  // namespace hcasim
