// The whole resolved description of a run, with units. Reading the YAML back gives the same values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {

// The first words of its text.
inline constexpr std::string_view resolved_mark = "# Written by hcasim ";

std::string resolved_yaml(const knob_tree& tree, const std::string& testbench, std::uint64_t seed, const std::string& version);
// Returns the values, nested like the tree: quantities are texts with units, counts and ratios numbers, flags true or false.
nlohmann::ordered_json resolved_json(const knob_tree& tree);

}  // namespace hcasim
