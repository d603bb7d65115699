// The whole resolved description, with units: what a run was really made with. Reading the YAML back gives the same values.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {

std::string resolved_yaml(const knob_tree& tree, const std::string& testbench, std::uint64_t seed, const std::string& version);
// Nested like the tree; quantities are texts with units, counts and ratios numbers, flags true or false.
nlohmann::ordered_json resolved_json(const knob_tree& tree);

}  // namespace hcasim
