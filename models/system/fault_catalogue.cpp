#include "models/system/fault_catalogue.h"

#include "models/adapter/completion/completion.h"
#include "models/adapter/dma_engine/dma_engine.h"

#include "models/system/system.h"

namespace hcasim {

std::span<const fault_place> fault_catalogue() {
  static constexpr fault_place places[] = {
      {"node*.host", host_fault_kinds},
      {"node*.pcie", pcie_fault_kinds},
      {"node*.hca.dma_engine", dma_engine_fault_kinds},
      {"node*.hca.qpc_cache", cache_fault_kinds},
      {"node*.hca.cqc_cache", cache_fault_kinds},
      {"node*.hca.mrc_cache", cache_fault_kinds},
      {"node*.hca.extent_cache", cache_fault_kinds},
      {"node*.hca.page_walker", cache_fault_kinds},
      {"node*.hca.atc", cache_fault_kinds},
      {"node*.hca.completion", completion_fault_kinds},
      {"node*.hca.command_unit", command_unit_fault_kinds},
      {"link*", link_fault_kinds},
  };
  return places;
}

}  // namespace hcasim
