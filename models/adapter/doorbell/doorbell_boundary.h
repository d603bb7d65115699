// The sockets by which an adapter knows its doorbell unit, model or RTL (tlm/rtl/replaceable.h).
#pragma once

#include <memory>

#include "models/adapter/doorbell/doorbell_front.h"
#include "tlm/base/unit.h"

namespace hcasim {

struct doorbell_boundary {
  std::unique_ptr<unit> made;
  tlm_utils::simple_target_socket<doorbell_front, 64>& bar;
  target_socket<doorbell_control>& control;
  initiator_socket<doorbell_ring>& send;
  initiator_socket<doorbell_ring>& receive;
  initiator_socket<doorbell_ring>& completion;
  initiator_socket<register_access>& command;
  initiator_socket<register_access>& msix;
  initiator_socket<register_access>& device_memory;
  initiator_socket<context_request>& qpc;
  initiator_socket<dma_request>& dma;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static doorbell_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.bar,  its.control,       its.send, its.receive, its.completion,
            its.command,  its.msix, its.device_memory, its.qpc,  its.dma};
  }
};

}  // namespace hcasim
