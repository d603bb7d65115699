// Knobs of the PCIe tree of one host: root complex, optional switch, one link per device.
#pragma once

#include "models/machine/pcie/pcie_rules.h"
#include "tlm/base/knobs.h"

namespace hcasim {

struct pcie_config {
  std::uint32_t generation = 3;
  std::uint32_t lanes = 16;
  std::uint64_t mps = 256;
  std::uint64_t mrrs = 512;
  std::uint64_t rcb = 64;
  std::uint64_t completion_payload = 0;
  std::uint64_t request_header = 26;
  std::uint64_t completion_header = 22;
  double dllp_overhead = 0.05;

  ps link_latency{80_ns};
  ps root_read_latency{120_ns};
  ps root_write_latency{60_ns};
  ps root_mmio_latency{60_ns};
  ps root_forward_latency{150_ns};
  bool has_switch = false;
  ps switch_latency{110_ns};

  std::uint32_t posted_headers = 256;
  std::uint32_t posted_data = 2048;
  std::uint32_t nonposted_headers = 256;
  std::uint32_t device_posted_headers = 128;
  std::uint32_t device_posted_data = 1024;
  std::uint32_t device_nonposted_headers = 32;
  ps credit_latency{100_ns};
  std::uint64_t completion_bytes = 0;
  std::uint64_t memory_top = 0;
  ps completion_timeout{50_us};
  ps retraining{10_us};
  ps replay_timer{505_ns};

  // Returns the rate of a link without DLLPs.
  [[nodiscard]] bit_rate rate() const { return {pcie_rate(generation, lanes).bits_per_second * (1 - dllp_overhead)}; }
  [[nodiscard]] std::uint64_t most_of_a_completion() const { return completion_payload ? completion_payload : mps; }

  void knobs(knob_visitor& k) {
    k.count("generation", generation, 1, 6, "PCIe generation: 2.5, 5, 8, 16, 32, 64 GT/s per lane");
    k.count("lanes", lanes, 1, 16, "lanes of each link: 1, 2, 4, 8, 12 or 16");
    k.bytes("mps", mps, 128, 4096, "largest payload of a TLP; power of two");
    k.bytes("mrrs", mrrs, 128, 4096, "largest read request; power of two");
    k.bytes("rcb", rcb, 64, 128, "read completion boundary: 64 or 128");
    k.bytes("completion_payload", completion_payload, 0, 4096, "largest payload of a completion, power of two; 0: mps");
    k.bytes("request_header", request_header, 12, 64, "bytes around the payload of a request: framing, sequence, header, LCRC");
    k.bytes("completion_header", completion_header, 12, 64, "the same of a completion");
    k.ratio("dllp_overhead", dllp_overhead, 0, 0.5, "share of the link that acknowledgements and credit updates take");
    k.time("link_latency", link_latency, 0_ps, 1_ms, "one link, one way: both PHYs, the wire, the receiving port");
    k.time("root_read_latency", root_read_latency, 0_ps, 1_ms, "a read request from the root port to memory");
    k.time("root_write_latency", root_write_latency, 0_ps, 1_ms, "a write from the root port to memory");
    k.time("root_mmio_latency", root_mmio_latency, 0_ps, 1_ms, "between a core and the root port, each way");
    k.time("root_forward_latency", root_forward_latency, 0_ps, 1_ms, "from one root port to another (peer-to-peer, no switch)");
    k.flag("has_switch", has_switch, "the devices sit behind one switch and share its link to the root complex");
    k.time("switch_latency", switch_latency, 0_ps, 1_ms, "through the switch");
    k.count("posted_headers", posted_headers, 1, 65536, "header credits that a device has for its writes");
    k.count("posted_data", posted_data, 1, 1048576, "data credits (16 B) that a device has for its writes; at least one mps");
    k.count("nonposted_headers", nonposted_headers, 1, 65536, "header credits that a device has for its read requests");
    k.count("device_posted_headers", device_posted_headers, 1, 65536, "header credits for MMIO writes into a device");
    k.count("device_posted_data", device_posted_data, 1, 1048576, "data credits (16 B) for MMIO writes; at least one mps");
    k.count("device_nonposted_headers", device_nonposted_headers, 1, 65536, "header credits for MMIO reads of a device");
    k.time("credit_latency", credit_latency, 0_ps, 1_ms, "from the arrival of a TLP until its credit is back at the sender");
    k.bytes("completion_bytes", completion_bytes, 0, 16777216,
            "bytes of reads of a device outstanding at once; 0: not limited");
    k.time("completion_timeout", completion_timeout, 1_ns, 1000_ms, "a read whose completion is lost fails after so long");
    k.time("retraining", retraining, 1_ns, 1000_ms, "from a link's fall, or a device's removal, until it is up again");
    k.time("replay_timer", replay_timer, 1_ns, 1_ms,
           "TLPs that are not acknowledged are sent again after so long [PCIe: REPLAY_TIMER of 16 lanes of 8 GT/s, 256 B]");
    k.bytes("memory_top", memory_top, 0, 1.8446744073709552e19, "addresses from here on are not memory; 0: all are");
  }
};

}  // namespace hcasim
