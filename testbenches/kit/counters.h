// Reading a unit's statistics by name, for checks and result tables.
#pragma once

#include <string_view>

#include "tlm/base/unit.h"

namespace hcasim::kit {

// The value of a counter or formula, the count of a histogram, all since the run began; the present value of a level. Throws
// std::logic_error when the unit has no such statistic.
double statistic_of(const unit& u, std::string_view name);
// The sum of the samples of a histogram. Throws likewise, also when it is no histogram.
double sum_of(const unit& u, std::string_view name);
// The sum over all statistics of the unit whose names end in `suffix`.
double statistics_ending_in(const unit& u, std::string_view suffix);

}  // namespace hcasim::kit
