// Bursts at their destination: memory, the interrupt controller or a device.
#pragma once

#include "models/machine/pcie/pcie_bursts.h"

namespace hcasim {

class pcie_completions;

class pcie_delivery {
 public:
  using target_port = tlm_utils::simple_initiator_socket_optional<pcie, 64>;

  pcie_delivery(target_port& memory, target_port& interrupts, pcie_bursts& bursts, pcie_completions& completions)
      : memory_(memory), interrupts_(interrupts), bursts_(bursts), completions_(completions) {}

  void arrive(pcie_burst& b);
  // Takes the destination's answer for t.
  void on_answer(pcie_burst& b, ps t);
  [[nodiscard]] unsigned debug(pcie_place place, pcie_device* to, std::uint64_t offset, tlm::tlm_generic_payload& p);
  // Learns, after elaboration, whether memory is a foreign module.
  void learn_borders();

 private:
  template <class Socket>
  void forward(pcie_burst& b, Socket& to, bool abroad);
  bool spoil(pcie_burst& b);

  event_queue& queue_ = event_queue::instance();
  target_port& memory_;
  target_port& interrupts_;
  pcie_bursts& bursts_;
  pcie_completions& completions_;
  bool memory_abroad_ = true;
};

}  // namespace hcasim
