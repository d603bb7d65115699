// On-demand regions as the verbs see them.
#pragma once

#include "models/driver/objects/objects.h"

namespace hcasim::driver {

// After the checks that all registrations take. nullptr and errno; 0 or an errno value.
verbs::ibv_mr* register_on_demand(cpu& c, protection_domain& pd, const memory_region& wanted);
int deregister_on_demand(cpu& c, memory_region& mr);

}  // namespace hcasim::driver
