// Knobs of a peer device: a GPU, or an NVMe drive with a controller memory buffer. Figures of the GPU are those of a card whose
// memory is far faster than what its BAR lets through.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

enum class peer_kind : std::uint8_t { none, gpu, nvme };

struct peer_device_config {
  peer_kind kind = peer_kind::none;
  std::uint64_t memory = 16_GiB;
  std::uint64_t page = 0;
  bit_rate write_rate{200e9};
  ps write_latency{150_ns};
  bit_rate read_rate{64e9};
  ps read_latency{600_ns};
  std::uint32_t read_slots = 16;
  bit_rate copy_rate{400e9};
  ps copy_setup{1_us};
  std::uint64_t copy_burst = 4_KiB;
  std::uint32_t copy_outstanding = 32;

  // The page size in force: what `page` says, or that of the kind.
  [[nodiscard]] std::uint64_t page_bytes() const { return page ? page : kind == peer_kind::nvme ? 4_KiB : 64_KiB; }

  void knobs(knob_visitor& k) {
    k.choice("kind", kind, {"none", "gpu", "nvme"},
             "no device, one like a GPU, or an NVMe drive with a controller memory buffer");
    k.bytes("memory", memory, 4096, 0x1p40, "bytes of the device's memory, whole pages");
    k.bytes("page", page, 0, 2097152,
            "page of the device's memory, a power of two from 4 KiB on; 0: 64 KiB of a gpu, 4 KiB of an nvme");
    k.rate("write_rate", write_rate, {1e6}, {1e14}, "bytes that writes to the BAR bring into memory");
    k.time("write_latency", write_latency, 0_ps, 1_ms, "from the arrival of a write until it has landed");
    k.rate("read_rate", read_rate, {1e6}, {1e14}, "bytes that reads of the BAR get out of memory");
    k.time("read_latency", read_latency, 0_ps, 1_ms, "from the arrival of a read until its first byte");
    k.count("read_slots", read_slots, 1, 4096, "reads of the BAR served at once; later ones wait");
    k.rate("copy_rate", copy_rate, {1e6}, {1e14}, "bytes that the copy engine hands to its link or takes from it");
    k.time("copy_setup", copy_setup, 0_ps, 100_ms, "from the descriptor to the first burst of a copy");
    k.bytes("copy_burst", copy_burst, 64, 4096, "largest burst of the copy engine, a power of two");
    k.count("copy_outstanding", copy_outstanding, 1, 4096, "bursts of the copy engine under way");
  }

  static peer_device_config gpu() {
    peer_device_config c;
    c.kind = peer_kind::gpu;
    return c;
  }
  static peer_device_config nvme() {
    peer_device_config c;
    c.kind = peer_kind::nvme;
    c.memory = 128_MiB;
    c.write_rate = c.read_rate = {50e9};
    c.write_latency = 250_ns;
    c.read_latency = 900_ns;
    c.read_slots = 4;
    c.copy_rate = {56e9};
    c.copy_setup = 8_us;
    c.copy_outstanding = 8;
    return c;
  }
};

}  // namespace hcasim
