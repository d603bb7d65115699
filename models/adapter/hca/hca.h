// One adapter: its units, and how they are joined.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/adapter/atc/atc.h"
#include "models/adapter/command_unit/command_unit.h"
#include "models/adapter/device_memory/device_memory.h"
#include "models/adapter/hca/hca_config.h"
#include "models/adapter/hca/swappable.h"
#include "models/adapter/port/port.h"
#include "models/adapter/processing_units/processing_units.h"
#include "models/adapter/requester/requester.h"
#include "models/adapter/responder/responder.h"
#include "models/adapter/send_queue/send_queue.h"
#include "models/adapter/window_unit/window_unit.h"

namespace hcasim {

class hca : public sc_core::sc_module {
  clock_domain clock_;

 public:
  doorbell_unit doorbell;
  hcasim::send_queue send_queue;
  hcasim::requester requester;
  hcasim::responder responder;
  key_check_unit key_check;
  hcasim::window_unit window_unit;
  page_walker_unit page_walker;
  walker_dma_bridge_unit walker_dma_bridge;
  dma_engine_unit dma_engine;
  hcasim::device_memory device_memory;
  completion_unit completion;
  hcasim::command_unit command_unit;
  hcasim::port port;
  context_cache_unit qpc_cache;
  context_cache_unit cqc_cache;
  context_cache_unit mrc_cache;
  context_cache_unit extent_cache;
  hcasim::atc* atc = nullptr;                            // when it is enabled
  hcasim::processing_units* processing_units = nullptr;  // when there are any

  hca(const sc_core::sc_module_name& name, const hca_config& config, packet_pool& packets);

  // To its PCIe link: DMA on `up`, register accesses on `down`.
  template <class Up, class Down>
  void plug_in(Up& up, Down& down) {
    if (!atc) {
      dma_engine.pcie.bind(up);
      down.bind(doorbell.bar);
      return;
    }
    dma_engine.pcie.bind(atc->engine);
    atc->pcie.bind(up);
    down.bind(atc->down);
    atc->bar.bind(doorbell.bar);
  }

  // Its reset line.
  void reset();

  // Returns the limits that the device reports and its firmware keeps.
  static fw_limits limits_of(const hca_config& config);

 private:
  // Adds a unit that some adapters lack, or without a lookup by its name.
  template <class Unit, class... Arguments>
  Unit& add(Arguments&&... arguments) {
    auto made = std::make_unique<Unit>(std::forward<Arguments>(arguments)...);
    Unit& reference = *made;
    others_.push_back(std::move(made));
    return reference;
  }

  std::vector<std::unique_ptr<unit>> others_;
};

}  // namespace hcasim
