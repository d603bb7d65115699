// A host, its IOMMU and PCIe, and the DMA engine of an adapter without any other unit, for measurements of DMA alone.
#pragma once

#include "models/adapter/dma_engine/dma_engine.h"
#include "models/driver/device/dma_map.h"
#include "models/machine/host/host.h"
#include "models/machine/iommu/iommu.h"
#include "models/machine/pcie/pcie.h"
#include "models/system/system_config.h"

namespace hcasim::kit {

// The adapter has no memory of its own.
class no_local_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};
  explicit no_local_memory(const sc_core::sc_module_name& n) : unit(n) { in.on<&no_local_memory::refuse>(this); }

 private:
  tlm::tlm_sync_enum refuse(dma_request& r, tlm::tlm_phase, ps&) {
    r.failed = true;
    return tlm::TLM_COMPLETED;
  }
};

struct dma_machine {
  static constexpr std::uint64_t iommu_registers = 0xffff'e000'0000'0000;
  static constexpr std::uint64_t physical_base = 0x1'0000'0000;

  clock_domain clock;
  hcasim::host host;
  hcasim::pcie pcie;
  hcasim::iommu iommu;
  dma_engine dma;
  no_local_memory local{"local"};
  virtual_memory memory;
  driver::driver_statistics statistics;
  driver::dma_map map;

  dma_machine(const node_config& n, std::uint64_t seed)
      : clock(n.hca.clock),
        host("host", n.host, seed),
        pcie("pcie", n.pcie, 1),
        iommu("iommu", n.iommu, iommu_registers),
        dma("dma_engine", engine_of(n), clock, 1),
        memory(host.memory_bytes(), seed),
        map(host, iommu_registers, 0, {}, statistics) {
    host.mmio.bind(iommu.cpu);
    iommu.mmio.bind(pcie.cpu);
    pcie.memory.bind(iommu.devices);
    pcie.interrupts.bind(iommu.messages);
    iommu.memory.bind(host.memory);
    iommu.interrupts.bind(host.interrupts);
    dma.pcie.bind(pcie.device(0).up);
    dma.local.bind(local.in);
  }

 private:
  static dma_engine_config engine_of(const node_config& n) {
    dma_engine_config c = n.hca.dma_engine;
    c.mrrs = n.pcie.mrrs;
    return c;
  }
};

}  // namespace hcasim::kit
