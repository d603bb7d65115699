// The bursts under way, from their initiators and back to them.
#pragma once

#include "models/machine/pcie/pcie_device.h"
#include "tlm/base/pool.h"

namespace hcasim {

class pcie_bursts {
 public:
  using software_socket = tlm_utils::simple_target_socket_optional<pcie, 64>;

  explicit pcie_bursts(software_socket& cpu) : cpu_(cpu) {}

  // Puts a burst on its way; `from`: null = software.
  pcie_burst& begin(tlm::tlm_generic_payload& p, const pcie_extension* extension, pcie_device* from, ps t);
  // Tells software that the link has taken its write at t.
  void take(pcie_burst& b, ps t);
  // Gives the burst back to its initiator.
  void respond(pcie_burst& b);
  // Answers a burst that never left.
  void refuse(pcie_burst& b);
  // Stops a device: it is no master any more, and its bursts under way are lost.
  void contain(pcie_device& d);

  template <class F>
  void each(F f) const {
    pool_.each_in_use(f);
  }

 private:
  event_queue& queue_ = event_queue::instance();
  software_socket& cpu_;
  pool<pcie_burst> pool_;
};

}  // namespace hcasim
