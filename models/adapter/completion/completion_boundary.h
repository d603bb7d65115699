// The sockets by which an adapter knows its completion unit. A unit with these sockets may take its place (tlm/rtl/registry.h,
// kind completion), a shell around RTL for instance.
#pragma once

#include <memory>

#include "models/adapter/completion/completion_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/translate.h"
#include "tlm/work.h"

namespace hcasim {

struct completion_boundary {
  // Makes a unit with sockets of its own. `reporters`: as many sockets `reports` there are.
  using maker = completion_boundary (*)(const char* name, const completion_config&, const clock_domain&, unsigned reporters);

  std::unique_ptr<unit> made;
  std::deque<target_socket<report>>& reports;
  target_socket<doorbell_ring>& bells;
  target_socket<completion_control>& control;
  target_socket<register_access>& msix;
  initiator_socket<context_request>& cqc;
  initiator_socket<translate_request>& walker;
  initiator_socket<dma_request>& dma;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static completion_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.reports, its.bells, its.control, its.msix, its.cqc, its.walker, its.dma};
  }
};
using completion_maker = completion_boundary::maker;

}  // namespace hcasim
