// An address space of the extended verbs, as the driver knows it.
#pragma once

#include "models/driver/objects/objects.h"
#include "models/driver/objects/space_map.h"

namespace hcasim::driver {

struct address_space {
  process* owner = nullptr;
  protection_domain* pd = nullptr;
  queue_pair* qp = nullptr;  // the connection it belongs to, or nullptr
  std::uint32_t key = 0;
  std::uint32_t handle = 0;  // in the process's table
  space_map map;
  memory_region mr;  // for binds; in no table
};

// 0 or an errno value; the space is gone when it succeeds.
int teardown_all(cpu& c, process& p);
// The adapter has retired its key.
void retired(cpu& c, address_space& space);

}  // namespace hcasim::driver
