// On-chip memories of the processing units.
#pragma once

#include "models/adapter/processing_units/processing_units_config.h"
#include "tlm/base/memories.h"
#include "tlm/processing.h"

namespace hcasim {

// Declares them. `log_qps`: log2 of the QPs of the device; `mtu`: bytes.
inline void memories(const processing_units_config& c, std::uint64_t log_qps, std::uint64_t mtu, memory_list& m) {
  m.add("units", memory_kind::state, c.units, log_qps + bits_for(processing_step_names.size()) + bits_for(mtu + 1),
        "QP, kind of the step and bytes left of each unit");
}

}  // namespace hcasim
