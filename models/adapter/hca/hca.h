// One adapter: its units, and how they are joined.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/adapter/atc/atc.h"
#include "models/adapter/command_unit/command_unit.h"
#include "models/adapter/completion/completion_boundary.h"
#include "models/adapter/completion/rtl/completion_rtl.h"
#include "models/adapter/context_cache/context_cache.h"
#include "models/adapter/context_cache/context_cache_boundary.h"
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"
#include "models/adapter/device_memory/device_memory.h"
#include "models/adapter/dma_engine/dma_engine.h"
#include "models/adapter/dma_engine/dma_engine_boundary.h"
#include "models/adapter/doorbell/doorbell.h"
#include "models/adapter/doorbell/doorbell_boundary.h"
#include "models/adapter/doorbell/rtl/doorbell_rtl.h"
#include "models/adapter/hca/designs.h"
#include "models/adapter/hca/hca_config.h"
#include "models/adapter/key_check/key_check.h"
#include "models/adapter/key_check/key_check_boundary.h"
#include "models/adapter/key_check/rtl/key_check_rtl.h"
#include "models/adapter/memory_port/memory_port_boundary.h"
#include "models/adapter/memory_port/memory_port_rtl.h"
#include "models/adapter/page_walker/page_walker.h"
#include "models/adapter/page_walker/page_walker_boundary.h"
#include "models/adapter/page_walker/rtl/page_walker_rtl.h"
#include "models/adapter/port/port.h"
#include "models/adapter/processing_units/processing_units.h"
#include "models/adapter/requester/requester.h"
#include "models/adapter/responder/responder.h"
#include "models/adapter/send_queue/send_queue.h"
#include "models/adapter/window_unit/window_unit.h"
#include "tlm/rtl/replaceable.h"

namespace hcasim {

// Units that RTL or a unit of the user's may replace.
using doorbell_unit = rtl::replaceable<"doorbell", doorbell_boundary, doorbell, doorbell_rtl, rtl::make_doorbell_design>;
using key_check_unit = rtl::replaceable<"key_check", key_check_boundary, key_check, key_check_rtl, rtl::make_key_check_design>;
using page_walker_unit =
    rtl::replaceable<"page_walker", page_walker_boundary, page_walker, page_walker_rtl, rtl::make_page_walker_design>;
using qpc_cache_unit =
    rtl::replaceable<"qpc_cache", context_cache_boundary, context_cache, context_cache_rtl, rtl::make_qpc_cache_design>;
using context_cache_unit =
    rtl::replaceable<"context_cache", context_cache_boundary, context_cache, context_cache_rtl, rtl::make_context_cache_design>;
using completion_unit =
    rtl::replaceable<"completion", completion_boundary, completion, completion_rtl, rtl::make_memory_port_design>;
using dma_engine_unit = rtl::replaceable<"dma_engine", dma_engine_boundary, dma_engine>;
using memory_port_unit =
    rtl::replaceable<"memory_port", memory_port_boundary, rtl::none, memory_port_rtl, rtl::make_memory_port_design>;

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
  std::unique_ptr<memory_port_unit> walker_dma_bridge;  // RTL between the page walker and the DMA engine, or nothing
  dma_engine_unit dma_engine;
  hcasim::device_memory device_memory;
  completion_unit completion;
  hcasim::command_unit command_unit;
  hcasim::port port;
  hcasim::port* port2 = nullptr;  // when there are two
  qpc_cache_unit qpc_cache;
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
  // Tells whether the adapter has power. Its ports are dark without power, and after that until a reset is done.
  void power(bool on);

  [[nodiscard]] unsigned ports() const { return port2 ? 2 : 1; }
  hcasim::port& port_at(unsigned i) { return i == 0 ? port : *port2; }

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

  void light_ports();

  bool powered_ = true;
  std::vector<std::unique_ptr<unit>> others_;
};

}  // namespace hcasim
