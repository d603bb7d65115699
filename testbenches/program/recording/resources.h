// How busy every resource was: links, memory, pipelines, look-up ports, walkers, tags. Found among the statistics by name:
//
//   *utilisation, *_busy  without unit, a formula   share of the time
//   *busy                 a time, a formula         summed busy time of one server
//   walkers_busy, tags_in_use, write_bytes, outstanding   levels, over the knob that says how many there are
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/results/measurement.h"
#include "testbenches/program/results/result.h"

namespace hcasim {

class knob_tree;

// In one part of the run, and those that the testbench tells of. Busiest first; equal ones in the order of the hierarchy.
std::vector<resource_use> resources_of(const knob_tree& tree, const measurement& m, const measurement::part& p,
                                       const std::vector<resource_use>& told = {});

nlohmann::ordered_json resources_json(const std::vector<resource_use>& list);

// The knob that says how many there are of what a level counts, or "".
std::string_view capacity_knob(std::string_view statistic);

// The unit's name without the top module: node0.hca.key_check.
std::string short_name(std::string_view unit);

}  // namespace hcasim
