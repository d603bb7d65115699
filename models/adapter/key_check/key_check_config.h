// Knobs of the protection pipeline.
#pragma once

#include "models/adapter/protection/judge.h"
#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct key_check_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  double depth = 6;
  double interval = 1;
  double extent_step = 1;
  bool blocking_miss = false;
  window_association window_type2 = window_association::qp_and_pd;
  bool orphan_windows = false;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("key_check"),
           "the SystemC model, the Verilated RTL, or RTL of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.cycles("depth", depth, 0, 1000, "pipeline depth: from the MRC to the verdict");
    k.cycles("interval", interval, 0, 1000, "between two checks that enter the pipeline");
    k.cycles("extent_step", extent_step, 0, 1000, "to compare with one line of an address space's extents");
    k.flag("blocking_miss", blocking_miss, "checks wait in order while one waits for its MRC or extents");
    k.choice("window_type2", window_type2, {"2A", "2B"}, "type 2 windows are tied to a QP (2A) or to a QP and its PD (2B)");
    k.flag("orphan_windows", orphan_windows, "a region may go while windows are bound to it; their accesses then fail");
  }
};

}  // namespace hcasim
