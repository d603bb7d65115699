// Falls of a rate that have a physical reason.
#pragma once

#include <string_view>

namespace hcasim::metamorphic {

// How far the rate of the workload may fall when the knob changes for the better; zero: not at all.
double allowed_fall(std::string_view workload_name, std::string_view knob);

}  // namespace hcasim::metamorphic
