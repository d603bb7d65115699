// Knobs of a PCIe device whose inside is a user's RTL.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct rtl_device_config {
  hcasim::implementation implementation{"none"};
  rtl_knobs of_rtl;
  frequency clock{250e6};
  std::uint64_t bar = 64_KiB;

  [[nodiscard]] bool there() const { return implementation.name != "none"; }

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("device", {"none"}),
           "no device, or RTL that masters AXI or makes TLPs, and has registers");
    k.group("rtl", of_rtl, "how it is run");
    k.clock("clock", clock, {1e6}, {1e10}, "of the RTL");
    k.bytes("bar", bar, 4096, 1 << 30, "bytes of its registers, a power of two");
  }
};

}  // namespace hcasim
