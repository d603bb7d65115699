// Reading a unit's statistics by name, for checks and result tables.
#pragma once

#include <string_view>

#include "tlm/base/unit.h"

namespace hcasim::kit {

// Returns the value of a counter or formula, or the count of a histogram, since the run began; of a level, the present value.
// Throws std::logic_error when the unit has no such statistic.
double statistic_of(const unit& u, std::string_view name);
// Returns the sum of the samples of a histogram. Throws std::logic_error when the unit has no such histogram.
double sum_of(const unit& u, std::string_view name);
// Returns the sum over all statistics of the unit whose names end in `suffix`.
double statistics_ending_in(const unit& u, std::string_view suffix);

}  // namespace hcasim::kit
