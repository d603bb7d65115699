// The sockets by which an adapter knows RTL in a unit's way to memory (tlm/rtl/replaceable.h).
#pragma once

#include <memory>

#include "tlm/base/unit.h"
#include "tlm/dma.h"

namespace hcasim {

struct memory_port_boundary {
  std::unique_ptr<unit> made;
  target_socket<dma_request>& in;
  initiator_socket<dma_request>& dma;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static memory_port_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.in, its.dma};
  }
};

}  // namespace hcasim
