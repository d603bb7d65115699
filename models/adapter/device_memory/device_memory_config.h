// Knobs of the memory on the adapter.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

struct device_memory_config {
  std::uint64_t size = 256_KiB;
  double latency = 8;
  std::uint32_t bytes_per_cycle = 64;

  void knobs(knob_visitor& k) {
    k.bytes("size", size, 0, 4 << 20, "of the memory on the adapter, whole pages of 4 KiB; 0: none");
    k.cycles("latency", latency, 0, 1000, "from a request to its first byte");
    k.count("bytes_per_cycle", bytes_per_cycle, 1, 4096, "width of its port");
  }
};

}  // namespace hcasim
