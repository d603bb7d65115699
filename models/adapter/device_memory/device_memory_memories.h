// On-chip memory of the adapter for programs.
#pragma once

#include "models/adapter/device_memory/device_memory_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

inline void memories(const device_memory_config& c, memory_list& m) {
  m.add("memory", memory_kind::data, c.size, bits_of(1), "memory that programs allocate");
}

}  // namespace hcasim
