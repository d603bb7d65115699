// The function of a device: configuration registers (firmware/abi/pci_config.h), faults asked for its bursts, and noted errors.
#pragma once

#include <functional>
#include <vector>

#include "models/machine/pcie/pcie_burst.h"
#include "models/machine/pcie/pcie_direction.h"

namespace hcasim {

class pcie_function {
 public:
  pcie_function(pcie_direction& up, pcie_direction& down) : up_(up), down_(down) {}

  [[nodiscard]] std::uint32_t read(std::uint32_t offset) const;
  void write(std::uint32_t offset, std::uint32_t value);

  // Asks for a fate of bursts to come, in order.
  void ask(pcie_fate fate, std::uint64_t bursts);
  // Returns the bursts that this fate still waits for.
  [[nodiscard]] std::uint64_t to_come(pcie_fate fate) const;
  void withdraw();
  // Applies faults to a leaving burst; true = it stays here, and is answered.
  bool disturb(pcie_burst& b) { return disturbed_ && apply(b); }
  // Notes the error of a burst. The first one keeps its place in the log until software has cleared it.
  void note(std::uint32_t error, const pcie_burst& b);

  [[nodiscard]] bool is_master() const { return (command_ & PCI_BUS_MASTER) != 0; }
  void end_mastering();
  [[nodiscard]] bool link_up() const { return link_up_; }
  void lose_link();
  void link_is_back();

  action reset;                        // the device's reset line
  std::function<void(bool on)> power;  // the device's power
  counter faults, blocked;

 private:
  bool apply(pcie_burst& b);
  void look() { disturbed_ = !link_up_ || !is_master() || !asked_.empty(); }

  pcie_direction& up_;
  pcie_direction& down_;
  bool disturbed_ = false;  // a member below may affect bursts: looked at once a burst
  bool link_up_ = true;
  std::uint32_t command_ = PCI_BUS_MASTER;
  std::vector<pcie_fault> asked_;
  std::uint32_t errors_ = 0;
  pci_error_log log_{};
};

}  // namespace hcasim
