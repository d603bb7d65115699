// The way there: requests of devices and of software take credits and the links to their destination.
#pragma once

#include "models/machine/pcie/pcie_delivery.h"
#include "models/machine/pcie/pcie_tree.h"

namespace hcasim {

class pcie_requests {
 public:
  pcie_requests(const pcie_timing& timing, pcie_tree& tree, pcie_bursts& bursts, pcie_delivery& delivery)
      : timing_(timing), tree_(tree), bursts_(bursts), delivery_(delivery) {}

  // Sends a device's burst.
  void enter(pcie_burst& b);
  // Sends the reads of a device for whose completions there is room now.
  void send_waiting_reads(pcie_device& d) {
    while (pcie_burst* const b = d.window.next()) send_read(*b);
  }
  // Sends a burst of software.
  void send_mmio(pcie_burst& b);

  counter mmio_reads, mmio_writes;

 private:
  using stream = pcie_direction::stream;

  void send_write(pcie_burst& b);
  void send_read(pcie_burst& b);
  stream write_stream(pcie_device& d, ps t, const tlp_shape& shape);
  void deliver(pcie_burst& b, ps t) { take_step<&pcie_delivery::arrive>(queue_, &delivery_, b, t); }

  event_queue& queue_ = event_queue::instance();
  const pcie_timing& timing_;
  pcie_tree& tree_;
  pcie_bursts& bursts_;
  pcie_delivery& delivery_;
};

}  // namespace hcasim
