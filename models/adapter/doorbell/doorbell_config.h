// Knobs of the doorbell unit.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct doorbell_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  std::uint32_t fifo_depth = 64;
  double interval = 2;
  double latency = 4;
  bool coalesce = true;
  std::uint64_t blueflame_max = 256;
  frequency blueflame_lines{100e6};
  std::uint32_t blueflame_buffer = 64;
  bool blueflame_stall = false;
  double register_latency = 8;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("doorbell"),
           "the SystemC model, the Verilated RTL, or RTL of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.count("fifo_depth", fifo_depth, 1, 65536, "doorbells that wait at most; more are dropped and recovered");
    k.cycles("interval", interval, 0, 1000, "from one doorbell to the next");
    k.cycles("latency", latency, 0, 10000, "from a doorbell's turn to the unit it is for");
    k.flag("coalesce", coalesce, "a newer SQ doorbell replaces one of the same QP that still waits");
    k.bytes("blueflame_max", blueflame_max, 0, 1024, "largest WQE taken by BlueFlame; 0: none");
    k.clock("blueflame_lines", blueflame_lines, {1e6}, {1e10}, "64 B lines taken per second");
    k.count("blueflame_buffer", blueflame_buffer, 1, 65536,
            "64 B lines that wait at most; a WQE that finds no room is a plain doorbell");
    k.flag("blueflame_stall", blueflame_stall, "a WQE that finds no room waits for it instead");
    k.cycles("register_latency", register_latency, 0, 10000, "a read of a control register");
  }
};

}  // namespace hcasim
