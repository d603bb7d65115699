// The cost of a machine: bits of its on-chip memories by unit.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tlm/base/memories.h"

namespace hcasim {

// Returns {"total_bits", "units": {"node0.hca.mrc_cache": {"bits", "memories": [{name, kind, entries, entry_bits, bits,
// help}]}}}.
nlohmann::ordered_json cost_json(const memory_list& memories);

// Returns only the bits of each unit: {"node0.hca.mrc_cache": 139648, ...}.
nlohmann::ordered_json unit_costs(const memory_list& memories);

// Returns a line for each memory, and the sum of a node; nodes that are alike are one.
std::string cost_text(const memory_list& memories);

}  // namespace hcasim
