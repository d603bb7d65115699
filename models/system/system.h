// Nodes and fabric, put together from a description.
#pragma once

#include <memory>
#include <vector>

#include "firmware/abi/registers.h"
#include "models/adapter/hca/hca.h"
#include "models/driver/device/device.h"
#include "models/machine/fabric/ib_switch.h"
#include "models/machine/fabric/link.h"
#include "models/machine/host/host.h"
#include "models/machine/iommu/iommu.h"
#include "models/machine/pcie/pcie.h"
#include "models/machine/peer_device/peer_device.h"
#include "models/machine/rtl_device/rtl_device.h"
#include "models/system/fault_schedule.h"
#include "models/system/system_config.h"
#include "models/system/watchdog.h"

namespace hcasim {

// A host, its PCIe tree, its adapter (device 0), the adapter's driver, and the peer devices that the description names.
class node : public sc_core::sc_module {
 public:
  hcasim::host host;
  hcasim::pcie pcie;
  std::unique_ptr<hcasim::iommu> iommu;  // when it is enabled
  hcasim::hca hca;

  node(const sc_core::sc_module_name& name, const node_config& config, std::uint64_t seed, packet_pool& packets);

  driver::device& device() { return *device_; }
  [[nodiscard]] std::size_t peers() const { return peers_.size(); }
  peer_device& peer(std::size_t i) { return *peers_.at(i); }
  [[nodiscard]] std::size_t rtl_devices() const { return rtl_devices_.size(); }
  rtl_device& own_device(std::size_t i) { return *rtl_devices_.at(i); }
  // The address of the adapter's BAR 0, above every address of memory.
  static constexpr std::uint64_t bar_base = 0xffff'f000'0000'0000;
  // Returns the BAR of peer device `i`.
  static constexpr std::uint64_t peer_bar(std::size_t i) { return 0xffff'c000'0000'0000 + (std::uint64_t{i} << 44); }
  // Returns the registers' address of RTL device `i`; `device_requester`: its ID on PCIe.
  static constexpr std::uint64_t device_bar(std::size_t i) { return 0xffff'9000'0000'0000 + (std::uint64_t{i} << 44); }
  static constexpr std::uint16_t device_requester(std::size_t i) { return static_cast<std::uint16_t>(HCA_REQUESTER + 1 + i); }
  static constexpr std::uint64_t iommu_base = 0xffff'b000'0000'0000;

 private:
  void reset_adapter();

  std::unique_ptr<driver::device> device_;
  std::vector<std::unique_ptr<peer_device>> peers_;
  std::vector<std::unique_ptr<rtl_device>> rtl_devices_;
};

class system : public sc_core::sc_module {
 public:
  system(const sc_core::sc_module_name& name, const system_config& config);

  [[nodiscard]] const system_config& config() const { return config_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }
  node& at(std::size_t i) { return *nodes_.at(i); }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  link& cable(std::size_t i) { return *links_.at(i); }
  packet_pool& packets() { return packets_; }
  // Plugs in the unit that stands in a node's place, when the description has an outside. Before the simulation starts.
  void plug_outside(initiator_socket<packet>& sends, target_socket<packet>& receives);
  [[nodiscard]] const hcasim::watchdog& watch() const { return *watchdog_; }

 private:
  system_config config_;
  packet_pool packets_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<std::unique_ptr<link>> links_;
  std::unique_ptr<ib_switch> switch_;
  std::unique_ptr<hcasim::watchdog> watchdog_;
  std::unique_ptr<fault_schedule> faults_;
};

}  // namespace hcasim
