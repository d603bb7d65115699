// The PCIe tree of one host: root complex, optional switch, one link per device. Bursts are routed by address, timed in closed
// form and moved at the time they get there.
//
// Order [PCIe ordering rules]: writes of a device land in the order of their BEGIN_REQ (relaxed ones may pass). Its reads, its
// interrupts and its answers to MMIO reads never pass its writes. A write has landed when memory, or the IOMMU in front, has
// answered. Completions of different reads may pass each other. An MMIO write stays behind earlier ones to its device; an MMIO
// read stays behind those writes. A burst to an unmapped address reaches the root complex and returns
// TLM_ADDRESS_ERROR_RESPONSE, a read after the way back. Costs: a write burst one kernel event, a read burst two, an MMIO
// access one. Messages (tlm/pcie.h) are posted writes: a device's go to `memory`, messages on `cpu` to the device of their
// requester.
//
// Each device has configuration registers (firmware/abi/pci_config.h), served by the root complex. While its bus mastering is
// off, a device sends nothing: its reads and writes end with TLM_COMMAND_ERROR_RESPONSE. Setting the bit of the function reset
// switches bus mastering off and pulls the device's reset line. An injected fault happens to the device's next burst of its
// kind. It is noted in the error registers and ends as the specification says (pcie_faults.h).
//
// This class has the sockets and the routes. The rest is parts:
//
//   pcie_requests, pcie_delivery, pcie_completions   the way of a burst: there, at its destination, back
//   pcie_tree, pcie_direction                        links and their time
//   pcie_device, pcie_function                       a device's port, its order and credits; its registers and faults
//   pcie_bursts                                      the bursts under way
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "models/machine/pcie/pcie_completions.h"
#include "models/machine/pcie/pcie_requests.h"
#include "tlm/base/faults.h"
#include "tlm/base/unit.h"

namespace hcasim {

class pcie : public unit, public faulty {
 public:
  tlm_utils::simple_target_socket_optional<pcie, 64> cpu{"cpu"};                   // MMIO from host software
  tlm_utils::simple_initiator_socket_optional<pcie, 64> memory{"memory"};          // to host memory
  tlm_utils::simple_initiator_socket_optional<pcie, 64> interrupts{"interrupts"};  // MSI-X messages to the host

  // Throws std::invalid_argument when the configuration contradicts itself.
  pcie(const sc_core::sc_module_name& name, const pcie_config& config, unsigned devices);
  ~pcie() override;

  void list_waiting(waiting_list& list) const override;

  [[nodiscard]] pcie_port& device(unsigned i) { return devices_.at(i)->sockets; }
  [[nodiscard]] unsigned devices() const { return static_cast<unsigned>(devices_.size()); }
  // Maps addresses [base, base + size) to `device`, which sees them from `offset` on. Throws std::invalid_argument when the
  // window is empty or overlaps another one.
  void map_bar(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset = 0);

  // Sets the action of a function reset of `device`.
  void map_reset(unsigned device, action line) { devices_.at(device)->function.reset = line; }
  // Sets the call for `device` losing its power, and getting power again.
  void map_power(unsigned device, std::function<void(bool on)> line) { devices_.at(device)->function.power = std::move(line); }
  [[nodiscard]] bool link_up(unsigned device) const { return devices_.at(device)->function.link_up(); }

  // Returns the faults of device 0.
  [[nodiscard]] std::span<const fault_kind> fault_kinds() const override { return pcie_fault_kinds; }
  void inject(std::size_t kind, const fault_request& r) override;
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const override;
  void withdraw() override;

  // Sends messages to `requester` to `device`.
  void map_requester(unsigned device, std::uint16_t requester) { devices_.at(device)->requester = requester; }

  [[nodiscard]] const pcie_config& config() const { return config_; }
  // Returns the payload rate that writes of `bytes` at `address` can reach: the TLP formula.
  [[nodiscard]] bit_rate write_limit(std::uint64_t address, std::uint64_t bytes) const;
  [[nodiscard]] bit_rate read_limit(std::uint64_t address, std::uint64_t bytes) const;

 private:
  // The device that answers a configuration access, and the time from now on.
  struct config_answer {
    pcie_device& device;
    ps way;
  };

  void end_of_elaboration() override;
  tlm::tlm_sync_enum from_device(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_host(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum from_registers(const config_answer& a, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum device_backward(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  unsigned device_debug(int i, tlm::tlm_generic_payload& p);
  unsigned host_debug(tlm::tlm_generic_payload& p);
  std::optional<config_answer> config_access(tlm::tlm_generic_payload& p);
  [[nodiscard]] pcie_route to_requester(std::uint16_t requester) const;
  [[nodiscard]] pcie_device* target(const pcie_route& r) const {
    return r.place == pcie_place::device ? devices_[r.device].get() : nullptr;
  }
  pcie_burst& begin(tlm::tlm_generic_payload& p, const pcie_extension* extension, pcie_device* from, const pcie_route& r, ps t);

  const pcie_config config_;
  const pcie_timing timing_{config_};
  pcie_address_map map_;
  std::vector<std::unique_ptr<pcie_device>> devices_;
  pcie_tree tree_;
  pcie_bursts bursts_;
  pcie_delivery delivery_;
  pcie_completions completions_;
  pcie_requests requests_;
  counter mmio_errors_;
};

}  // namespace hcasim
