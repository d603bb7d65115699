// Reads the table of frames that a run of the gateway prints.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace hcasim::gateway::testing {

// Returns the number in the row `what` of the table of frames; -1 = no such row.
inline double frames(const nlohmann::json& result, const std::string& what) {
  for (const auto& table : result["tables"]) {
    if (table["title"] != "frames") continue;
    for (const auto& row : table["rows"]) {
      if (row[0] == what) return row[1];
    }
  }
  return -1;
}

inline double damaged(const nlohmann::json& result) {
  return frames(result, "icrc") + frames(result, "ip_checksum") + frames(result, "cut_short") + frames(result, "length");
}

}  // namespace hcasim::gateway::testing
