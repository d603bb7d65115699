// How much of the adapter is taken, by all processes together.
#pragma once

#include "firmware/abi/command.h"
#include "models/driver/verbs/verbs.h"

namespace hcasim::verbs {

// 0 or an errno value.
int hcax_query_usage(cpu& c, ibv_context* context, hca_usage* usage);

}  // namespace hcasim::verbs
