// On-chip memories of the completion unit.
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/completion/completion_config.h"
#include "tlm/base/memories.h"

namespace hcasim {

inline void memories(const completion_config& c, memory_list& m) {
  m.add("event_queues", memory_kind::data, c.event_queues, bits_of(sizeof(hca_eqc)), "event queue contexts");
}

}  // namespace hcasim
