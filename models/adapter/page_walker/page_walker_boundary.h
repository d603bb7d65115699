// The sockets by which an adapter knows its page walker, model or RTL (tlm/rtl/replaceable.h).
#pragma once

#include <deque>
#include <memory>

#include "tlm/base/unit.h"
#include "tlm/dma.h"
#include "tlm/translate.h"

namespace hcasim {

struct page_walker_boundary {
  std::unique_ptr<unit> made;
  std::deque<target_socket<translate_request>>& in;
  initiator_socket<dma_request>& dma;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static page_walker_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.in, its.dma};
  }
};

}  // namespace hcasim
