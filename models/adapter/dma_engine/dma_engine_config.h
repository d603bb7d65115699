// Knobs of the DMA engine.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/rtl/implementation.h"

namespace hcasim {

struct dma_engine_config {
  hcasim::implementation implementation;
  rtl_knobs of_rtl;
  std::uint32_t read_tags = 64;
  std::uint64_t mrrs = 512;  // power of two; that of the PCIe port
  std::uint64_t write_buffer = 64_KiB;
  double issue_interval = 1;
  double request_latency = 4;
  double write_latency = 0;
  double response_latency = 4;
  std::uint32_t datapath_width = 64;
  std::uint64_t read_line = 0;
  std::uint64_t write_line = 0;
  double read_command = 0;
  double write_command = 0;
  bool store_and_forward = false;
  std::uint32_t atomic_buckets = 4096;
  double atomic_latency = 2;
  double atomic_interval = 0;
  std::uint32_t atomic_waiters = 0;

  void knobs(knob_visitor& k) {
    k.path("implementation", implementation.name, rtl::names_of("dma_engine", {"model"}),
           "the SystemC model, or a unit of the user's");
    k.group("rtl", of_rtl, "how RTL that stands in its place is run");
    k.count("read_tags", read_tags, 1, 4096, "PCIe read requests outstanding at once");
    k.bytes("mrrs", mrrs, 128, 4096, "bytes of one PCIe read request at most; equals the PCIe port's");
    k.bytes("write_buffer", write_buffer, 64, 16777216, "bytes of posted writes on their way at once");
    k.cycles("issue_interval", issue_interval, 0, 1000, "from one burst to the next");
    k.cycles("request_latency", request_latency, 0, 10000, "from a request to its first burst");
    k.cycles("write_latency", write_latency, 0, 10000,
             "more of a write: its bytes come out of the adapter's memory; later reads wait for it");
    k.cycles("response_latency", response_latency, 0, 10000, "from the last byte of a request to its answer");
    k.count("datapath_width", datapath_width, 0, 4096, "bytes that each direction moves per cycle; 0: not limited");
    k.bytes("read_line", read_line, 0, 4096, "the datapath moves reads in whole lines of this size; 0: in bytes");
    k.bytes("write_line", write_line, 0, 4096, "the same of writes");
    k.cycles("read_command", read_command, 0, 10000, "of the datapath for each PCIe read request, beside its bytes");
    k.cycles("write_command", write_command, 0, 10000, "of the datapath for each burst of a write, beside its bytes");
    k.flag("store_and_forward", store_and_forward, "a burst passes the engine whole, instead of cutting through");
    k.count("atomic_buckets", atomic_buckets, 1, 65536, "locks for atomics, chosen by address / 8 modulo their number");
    k.cycles("atomic_latency", atomic_latency, 0, 10000, "from the old value of an atomic to the write of the new one");
    k.cycles("atomic_interval", atomic_interval, 0, 10000, "between the starts of two atomics");
    k.count("atomic_waiters", atomic_waiters, 0, 65536,
            "atomics that may wait for a lock before all others wait behind them; 0: not limited");
  }
};

}  // namespace hcasim
