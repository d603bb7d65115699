// hcasim run --explain: where the time of an operation went, and which resource held the run back.
#pragma once

#include <string>
#include <vector>

#include "testbenches/runner/resources.h"
#include "testbenches/runner/result.h"

namespace hcasim {

// The waterfalls, then the busiest resources and the one that binds.
std::string explain(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources);
nlohmann::ordered_json explain_json(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources);

// "node0.host software, 96 % busy", or that nothing is.
std::string binding_resource(const std::vector<resource_use>& resources);

}  // namespace hcasim
