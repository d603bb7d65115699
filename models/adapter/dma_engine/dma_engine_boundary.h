// The sockets by which an adapter knows its DMA engine. A unit with these sockets may take its place (tlm/rtl/registry.h, kind
// dma_engine), a shell around RTL for instance.
#pragma once

#include <memory>

#include "models/adapter/dma_engine/dma_engine_config.h"
#include "models/adapter/dma_engine/icm_guard.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/dma.h"
#include "tlm/icm.h"

namespace hcasim {

struct dma_engine_boundary {
  // Makes a unit with sockets of its own. `clients`: number of sockets `in`. `requester`: bus, device and function of its
  // bursts. `guard`: checks reads of ICM.
  using maker = dma_engine_boundary (*)(const char* name, const dma_engine_config&, const clock_domain&, unsigned clients,
                                        std::uint16_t requester, const icm_guard& guard);

  std::unique_ptr<unit> made;
  std::deque<target_socket<dma_request>>& in;
  target_socket<icm_area, sc_core::SC_ZERO_OR_MORE_BOUND>& areas;
  tlm::tlm_initiator_socket<64>& pcie;
  initiator_socket<dma_request>& local;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static dma_engine_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.in, its.areas, its.pcie, its.local};
  }
};
using dma_engine_maker = dma_engine_boundary::maker;

}  // namespace hcasim
