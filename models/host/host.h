// A host: memory with real bytes, and software threads with CPU costs. Software sees devices only through MMIO and memory.
#pragma once

#include <functional>
#include <string>

#include "models/base/unit.h"
#include "models/host/cpu.h"
#include "models/host/host_config.h"
#include "models/host/physical_memory.h"
#include "models/host/virtual_memory.h"
#include "tlm/pcie.h"

namespace hcasim {

class host : public unit {
 public:
  // Ports: see pcie.h for the protocol.
  //   memory      target: DMA from the root complex
  //   interrupts  target: MSI-X messages, already recognised by the root complex
  //   mmio        initiator: loads and stores to device registers

  host(const sc_core::sc_module_name& name, const host_config& config, std::uint64_t seed);

  // Starts `program` as a thread of this host at the current time (before or during the simulation).
  void run(const std::string& name, std::function<void(cpu&)> program);

  [[nodiscard]] physical_memory& memory_bytes();
  [[nodiscard]] const host_config& config() const;
  // Physically contiguous memory that the driver gives to a device (ICM, queues); never freed to others.
  std::uint64_t reserve_physical(std::uint64_t bytes, std::uint64_t alignment);
};

}  // namespace hcasim
