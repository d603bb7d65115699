// Knobs of the completion unit.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct completion_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  double cqe_interval = 1;
  double cqe_latency = 6;
  double eqe_latency = 6;
  double interrupt_latency = 4;
  std::uint32_t event_queues = 64;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("completion", {"model", "rtl"}),
           "the SystemC model, the same with its way to memory as Verilated RTL, or a unit of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.cycles("cqe_interval", cqe_interval, 0, 1000, "from one completion to the next");
    k.cycles("cqe_latency", cqe_latency, 0, 10000, "from the CQ context to the write of the CQE");
    k.cycles("eqe_latency", eqe_latency, 0, 10000, "from the cause of an event to the write of its EQE");
    k.cycles("interrupt_latency", interrupt_latency, 0, 10000, "from the write of an EQE to the interrupt message");
    k.count("event_queues", event_queues, 1, 256, "event queue contexts on chip");
  }
};

}  // namespace hcasim
