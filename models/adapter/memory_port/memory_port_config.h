// Knobs of a unit's way to memory.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct memory_port_config {
  hcasim::implementation implementation{"none"};
  rtl_knobs of_rtl;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("memory_port", {"none", "rtl"}),
           "nothing between the unit and the DMA engine, Verilated RTL, or RTL of the user's");
    k.group("rtl", of_rtl, "how that is run");
  }
};

}  // namespace hcasim
