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

// An adapter, its driver, and the host around them: memory, a PCIe tree with the adapter as device 0, and peer devices. A node
// beside another one has no host of its own: its adapter is in the other node's.
class node : public sc_core::sc_module {
  std::unique_ptr<hcasim::host> own_host_;
  std::unique_ptr<hcasim::pcie> own_pcie_;
  std::unique_ptr<hcasim::iommu> own_iommu_;

 public:
  hcasim::host& host;
  hcasim::pcie& pcie;
  hcasim::iommu* iommu = nullptr;  // when it is enabled
  hcasim::hca hca;

  // `beside`: how many adapters of other nodes its host has room for.
  node(const sc_core::sc_module_name& name, const node_config& config, std::uint64_t seed, packet_pool& packets,
       unsigned beside);
  // In the host of `other`.
  node(const sc_core::sc_module_name& name, const node_config& config, packet_pool& packets, node& other);

  driver::device& device() { return *device_; }
  [[nodiscard]] std::size_t peers() const { return peers_.size(); }
  peer_device& peer(std::size_t i) { return *peers_.at(i); }
  [[nodiscard]] std::size_t rtl_devices() const { return rtl_devices_.size(); }
  rtl_device& own_device(std::size_t i) { return *rtl_devices_.at(i); }
  // Returns the address of BAR 0 of the `i`-th adapter of a host, above every address of memory.
  static constexpr std::uint64_t adapter_bar(unsigned i) { return 0xffff'f000'0000'0000 + std::uint64_t{i} * HCA_BAR_SIZE; }
  // Returns the BAR of peer device `i`.
  static constexpr std::uint64_t peer_bar(std::size_t i) { return 0xffff'c000'0000'0000 + (std::uint64_t{i} << 44); }
  // Returns the registers' address of RTL device `i`; `device_requester`: its ID on PCIe.
  static constexpr std::uint64_t device_bar(std::size_t i) { return 0xffff'9000'0000'0000 + (std::uint64_t{i} << 44); }
  static constexpr std::uint16_t device_requester(std::size_t i) { return static_cast<std::uint16_t>(HCA_REQUESTER + 1 + i); }
  // Returns the ID on PCIe of the `i`-th adapter of a host.
  static constexpr std::uint16_t adapter_requester(unsigned i) {
    return static_cast<std::uint16_t>(HCA_REQUESTER + (i == 0 ? 0U : 2 + i));
  }
  static constexpr std::uint64_t iommu_base = 0xffff'b000'0000'0000;

 private:
  // Puts the adapter into device slot `slot` of the tree, as the `i`-th adapter there.
  void plug_in(unsigned slot, unsigned i, const node_config& config);
  void add_iommu(const iommu_config& config);
  void add_peers(const node_config& config);
  void add_devices(const node_config& config);
  void reset_adapter();

  unsigned adapters_ = 1;      // in its own host
  unsigned first_beside_ = 0;  // device slot of the first adapter of another node
  std::unique_ptr<driver::device> device_;
  std::vector<std::unique_ptr<peer_device>> peers_;
  std::vector<std::unique_ptr<rtl_device>> rtl_devices_;
};

class system : public sc_core::sc_module {
 public:
  system(const sc_core::sc_module_name& name, const system_config& config);
  ~system() override;

  [[nodiscard]] const system_config& config() const { return config_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }
  node& at(std::size_t i) { return *nodes_.at(i); }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  // Returns a cable: of the nodes' first ports in their order, of the outside, and of the second ports.
  link& cable(std::size_t i) { return *links_.at(i); }
  packet_pool& packets() { return packets_; }
  // Plugs in the unit that stands in a node's place, when the description has an outside. Before the simulation starts.
  void plug_outside(initiator_socket<packet>& sends, target_socket<packet>& receives);
  [[nodiscard]] const hcasim::watchdog& watch() const { return *watchdog_; }
  [[nodiscard]] const fault_schedule& faults() const { return *faults_; }

 private:
  void add_nodes();
  link& add_link();
  void plug(std::size_t node, unsigned port, link& l, unsigned end);
  void join_by_switch();
  void join_directly();

  system_config config_;
  packet_pool packets_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<std::unique_ptr<link>> links_;
  link* outside_ = nullptr;
  std::unique_ptr<ib_switch> switch_;
  std::unique_ptr<hcasim::watchdog> watchdog_;
  std::unique_ptr<fault_schedule> faults_;
};

}  // namespace hcasim
