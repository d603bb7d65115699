// hcasim run --explain: the parts of an operation's time, and busy resources. Only a what-if tells the binding ones.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/explanation/what_if_gain.h"
#include "testbenches/program/results/result.h"

namespace hcasim {

// Returns the waterfalls, then the busiest resources.
std::string explain(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources);

// Returns "node0.host software, 96 % busy", or a text for no busy resource.
std::string busiest_resource(const std::vector<resource_use>& resources);
// Returns the verdicts if tried out; otherwise the busiest resource, and how to find out. `gained` may be null.
std::string verdict_text(const std::vector<resource_use>& resources, const what_if_gain* gained);

nlohmann::ordered_json explain_json(const std::vector<waterfall>& waterfalls, const std::vector<resource_use>& resources,
                                    const what_if_gain* gained);

}  // namespace hcasim
