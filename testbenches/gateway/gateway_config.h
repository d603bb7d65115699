// Knobs of the gateway.
#pragma once

#include <cstdint>
#include <string>

#include "testbenches/gateway/pacer.h"
#include "tlm/base/knobs.h"

namespace hcasim::gateway {

struct gateway_config {
  bit_rate rate{200e6};
  std::uint64_t queue = 256_KiB;
  pacing pace;

  void knobs(knob_visitor& k) {
    k.rate("rate", rate, bit_rate{1e6}, bit_rate{1e12}, "rate of leaving frames; faster packets wait in the fabric");
    k.bytes("queue", queue, 8192, 1 << 30,
            "packets of the fabric that wait to leave, and frames that wait to enter; more is lost");
    k.time("step", pace.step, 1_us, 10_ms, "simulated between two looks outside, while packets pass");
    k.time("idle_step", pace.idle_step, 1_us, 100_ms,
           "simulated between two looks outside at most, while no packets pass; a frame ends it");
    k.time("most_lag", pace.most_lag, 10_us, 10'000_ms,
           "largest lag behind the wall clock that simulated time catches up; more is given up");
  }
};

}  // namespace hcasim::gateway
