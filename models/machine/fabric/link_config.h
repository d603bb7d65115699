// Knobs of one link.
#pragma once

#include <cstdint>

#include "tlm/base/knobs.h"

namespace hcasim {

struct link_config {
  bit_rate rate{100e9};
  ps propagation = 10_ns;
  std::uint32_t virtual_lanes = 1;
  std::uint64_t buffer = 32_KiB;
  double loss = 0;
  double corruption = 0;
  double duplication = 0;
  double delay = 0;
  ps max_delay = 10_us;
  ps retraining = 100_us;

  void knobs(knob_visitor& k) {
    k.rate("rate", rate, bit_rate{1e9}, bit_rate{1e13}, "data rate of each direction, after line coding");
    k.time("propagation", propagation, 0_ps, 10_ms, "time of one bit from end to end");
    k.count("virtual_lanes", virtual_lanes, 1, 15, "data virtual lanes, each with credits of its own");
    k.bytes("buffer", buffer, 0, 1 << 30, "receive buffer of each lane, in use as 64-byte credits; 0: no limit");
    k.ratio("loss", loss, 0, 1, "probability that a packet is lost");
    k.ratio("corruption", corruption, 0, 1, "probability that one random bit of a packet is flipped");
    k.ratio("duplication", duplication, 0, 1, "probability that a packet arrives twice");
    k.ratio("delay", delay, 0, 1, "probability that a packet is held back, so that later ones overtake it");
    k.time("retraining", retraining, 1_ns, 10'000_ms,
           "from a fall of the link until it is up again, when a fault does not say");
    k.time("max_delay", max_delay, 1_ps, 1'000_ms, "longest time that a packet is held back");
  }
};

}  // namespace hcasim
