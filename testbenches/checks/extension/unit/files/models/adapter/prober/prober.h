// Reads the first line of host memory now and then, and keeps how long that took: what DMA costs while other traffic is under
// way.
#pragma once

#include <array>

#include "models/adapter/prober/prober_config.h"
#include "tlm/base/process.h"
#include "tlm/base/unit.h"
#include "tlm/dma.h"

namespace hcasim {

class prober : public unit {
 public:
  initiator_socket<dma_request> dma{"dma"};

  prober(const sc_core::sc_module_name& name, const prober_config& config);

 private:
  void later();
  process read();

  const prober_config config_;
  std::array<std::byte, 64> line_{};
  counter failed_;
  histogram round_trip_;
  hcasim::probe under_way_;
};

}  // namespace hcasim
