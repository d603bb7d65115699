// Knobs of the prober.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct prober_config {
  ps interval{0};

  void knobs(knob_visitor& k) {
    k.time("interval", interval, 0_ps, 1000_ms, "from an answer to the next read; 0: none are made");
  }
};

}  // namespace hcasim
