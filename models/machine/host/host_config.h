// Knobs of a host: costs of software, and its memory. Times are those of a server of about 3 GHz.
#pragma once

#include "models/machine/host/last_level_cache.h"
#include "tlm/base/knobs.h"

namespace hcasim {

struct host_config {
  ps load_cost{1_ns};  // a cached access of up to 64 B; more lines cost as often
  ps store_cost{1_ns};
  ps poll_interval{20_ns};  // one turn of an idle polling loop
  ps poll_cost{60_ns};      // the load that first sees a DMA write: the line is not in the cache
  ps mmio_write_cost{20_ns};
  ps mmio_read_cost{20_ns};  // besides the round trip
  ps combined_line_cost{12_ns};
  std::uint32_t combining_buffers = 0;
  ps system_call_cost{200_ns};
  ps interrupt_latency{1500_ns};
  ps wake_up_cost{1500_ns};
  ps pin_page_cost{100_ns};
  bit_rate copy_rate{80e9};
  ps memory_read_latency{80_ns};
  ps memory_write_latency{20_ns};
  bit_rate memory_bandwidth{800e9};
  ps run_ahead{10_us};
  std::uint64_t stack = 128_KiB;
  last_level_cache_config last_level_cache;

  void knobs(knob_visitor& k) {
    k.time("load_cost", load_cost, 0_ps, 1_ms, "a cached load, per 64 B line");
    k.time("store_cost", store_cost, 0_ps, 1_ms, "a cached store, per 64 B line");
    k.time("poll_interval", poll_interval, 1_ps, 1_ms, "one turn of a polling loop that finds nothing");
    k.time("poll_cost", poll_cost, 0_ps, 1_ms, "the load that finds what DMA has written (a cache miss)");
    k.time("mmio_write_cost", mmio_write_cost, 0_ps, 1_ms, "issue of an uncached register write");
    k.time("mmio_read_cost", mmio_read_cost, 0_ps, 1_ms, "issue of a register read, besides its round trip");
    k.time("combined_line_cost", combined_line_cost, 0_ps, 1_ms, "filling and flushing one write-combining line of 64 B");
    k.count("combining_buffers", combining_buffers, 0, 4096,
            "64 B lines of register writes that a core has on their way to its PCIe link at most; 0: any number");
    k.time("system_call_cost", system_call_cost, 0_ps, 1_ms, "a system call, there and back");
    k.time("interrupt_latency", interrupt_latency, 0_ps, 1_ms, "from the MSI-X message to the end of its handler");
    k.time("wake_up_cost", wake_up_cost, 0_ps, 1_ms, "from the handler to the sleeping thread running again");
    k.time("pin_page_cost", pin_page_cost, 0_ps, 1_ms, "finding and pinning one page");
    k.rate("copy_rate", copy_rate, {1e6}, {1e14}, "copying between buffers by software");
    k.time("memory_read_latency", memory_read_latency, 0_ps, 1_ms,
           "DMA read: from the request at the memory to its first data");
    k.time("memory_write_latency", memory_write_latency, 0_ps, 1_ms, "DMA write: from its arrival to its acknowledgement");
    k.rate("memory_bandwidth", memory_bandwidth, {1e6}, {1e15}, "bytes that DMA moves to and from memory");
    k.time("run_ahead", run_ahead, 0_ps, 1_ms,
           "how far a thread may run ahead of the kernel before its next load lets it catch up");
    k.bytes("stack", stack, 16384, 16777216, "stack of a software thread of the simulation");
    last_level_cache.knobs(k);
  }
};

}  // namespace hcasim
