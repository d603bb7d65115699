// Memory on the adapter (device memory, "memic"): regions of it are reached without PCIe by the adapter's own DMA, and by
// software through a window of BAR 0, 4 or 8 bytes at a time.
//
// Every request is answered in the call. Errors: bytes outside the memory are `failed` for DMA; software reads all ones and its
// writes are lost.
#pragma once

#include "models/adapter/device_memory/device_memory_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/control.h"
#include "tlm/dma.h"

namespace hcasim {

class device_memory : public unit {
 public:
  target_socket<dma_request> dma{"dma"};
  target_socket<register_access> window{"window"};

  device_memory(const sc_core::sc_module_name& name, const device_memory_config& config, const clock_domain& clock);

 private:
  tlm::tlm_sync_enum on_dma(dma_request& r, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_window(register_access& r, tlm::tlm_phase phase, ps& t);
  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t n) const {
    return offset <= bytes_.size() && n <= bytes_.size() - offset;
  }

  const device_memory_config config_;
  const clock_domain clock_;
  lazy_array<std::byte> bytes_;
  server port_;

  counter reads_, writes_, atomics_, window_reads_, window_writes_, outside_;
  probe valid_probe_, offset_probe_;
};

}  // namespace hcasim
