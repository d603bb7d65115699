// hcasim run --explain: where the time of an operation went, and which resources were busy. What binds only a what-if tells.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/explanation/gains.h"
#include "testbenches/program/results/result.h"

namespace hcasim {

// The waterfalls, then the busiest resources.
std::string explain(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources);

// "node0.host software, 96 % busy", or that nothing is.
std::string busiest_resource(const std::vector<resource_use>& resources);
// One line: what binds, when that was tried out; otherwise what is busiest, and how to find out. `gained` may be null.
std::string verdict_text(const std::vector<resource_use>& resources, const gains* gained);

nlohmann::ordered_json explain_json(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources,
                                    const gains* gained);

}  // namespace hcasim
