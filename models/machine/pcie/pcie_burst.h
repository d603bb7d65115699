// A burst on its way through the tree. The burst rides on its payload, where answers find it.
#pragma once

#include "models/machine/pcie/pcie_faults.h"
#include "models/machine/pcie/pcie_rules.h"
#include "tlm/base/delegate.h"
#include "tlm/pcie.h"
#include "tlm/riding_extension.h"

namespace hcasim {

struct pcie_device;

struct pcie_burst : riding_extension<pcie_burst> {
  void* part = nullptr;  // the part of the tree that takes the next step
  pcie_burst* next = nullptr;
  pcie_device* from = nullptr;  // null = software
  pcie_device* to = nullptr;    // of a route to a device
  pcie_place place = pcie_place::nowhere;
  std::uint64_t offset = 0;  // in the device's BAR space
  bool read = false;
  bool relaxed = false;
  bool empty = false;  // a message without data
  pcie_fate fate = pcie_fate::ordinary;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t behind = 0;  // an answer to software: number of earlier memory writes by the device
  ps begun{0};

  // Returns the TLPs of a write. A message without data is a header. Unlike in the specification, it takes a data credit.
  [[nodiscard]] tlp_shape shape_of_write(std::uint64_t mps) const {
    return empty ? tlp_shape{1, 0, 1} : split_write(address, bytes, mps);
  }
  void fail(tlm::tlm_response_status status) const { payload().set_response_status(status); }
};

// Has a part's step called with the burst at t; a burst waits for one step at a time.
template <auto Step, class Part>
void take_step(event_queue& queue, Part* part, pcie_burst& b, ps t) {
  b.part = part;
  queue.at(t, call_holder<&pcie_burst::part, Step>(b));
}

}  // namespace hcasim
