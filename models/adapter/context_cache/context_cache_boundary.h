// The sockets by which an adapter knows a cache of contexts, model or RTL (tlm/rtl/replaceable.h).
#pragma once

#include <deque>
#include <memory>

#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/dma.h"

namespace hcasim {

struct context_cache_boundary {
  std::unique_ptr<unit> made;
  std::deque<target_socket<context_request>>& in;
  initiator_socket<dma_request>& dma;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static context_cache_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.in, its.dma};
  }
};

}  // namespace hcasim
