// The machine of the workloads on the host: two nodes at 100 Gb/s and 1 us.
#pragma once

#include "models/system/system.h"

namespace hcasim {

inline system_config two_nodes_100g() {
  system_config c;
  c.nodes.resize(2);
  c.link.rate = {100e9};
  c.link.propagation = 1_us;
  return c;
}

}  // namespace hcasim
