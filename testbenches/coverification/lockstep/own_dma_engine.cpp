// A DMA engine in a shared object: the model with a statistic that the program's own unit does not have.
#include "models/adapter/dma_engine/dma_engine.h"
#include "models/adapter/dma_engine/dma_engine_boundary.h"
#include "tlm/rtl/unit_object.h"

namespace {

class own_dma_engine : public hcasim::dma_engine {
 public:
  own_dma_engine(const sc_core::sc_module_name& name, const hcasim::dma_engine_config& config,
                 const hcasim::clock_domain& clock, unsigned clients, std::uint16_t requester, const hcasim::icm_guard& guard)
      : dma_engine(name, config, clock, clients, requester, guard) {
    stats_.total("mine", "1", "it is not the program's own", [clients](hcasim::ps) { return static_cast<double>(clients); });
  }
};

hcasim::dma_engine_boundary make(const char* name, const hcasim::dma_engine_config& config, const hcasim::clock_domain& clock,
                                 unsigned clients, std::uint16_t requester, const hcasim::icm_guard& guard) {
  return hcasim::dma_engine_boundary::of(std::make_unique<own_dma_engine>(name, config, clock, clients, requester, guard));
}

}  // namespace

HCASIM_WHOLE_UNIT_OBJECT("dma_engine", "own_dma_engine", make)
