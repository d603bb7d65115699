// Knobs of the unit that changes protection on the data path.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct window_unit_config {
  double interval = 4;
  double latency = 12;
  double extent_step = 1;
  bool inv_plain_mr = false;
  bool inv_free_error = false;

  void knobs(knob_visitor& k) {
    k.cycles("interval", interval, 0, 1000, "between two changes that enter the unit");
    k.cycles("latency", latency, 0, 10000, "from the contexts of a change to the change");
    k.cycles("extent_step", extent_step, 0, 1000, "to compare with one line of an address space's extents");
    k.flag("inv_plain_mr", inv_plain_mr, "LOCAL_INV may invalidate a registered region");
    k.flag("inv_free_error", inv_free_error, "invalidating a free key is an error");
  }
};

}  // namespace hcasim
