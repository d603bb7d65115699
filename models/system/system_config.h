// A whole system as a description gives it: nodes (host, PCIe, adapter, driver) and the fabric between them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/adapter/hca/hca_config.h"
#include "models/driver/device/driver_config.h"
#include "models/machine/fabric/link_config.h"
#include "models/machine/fabric/switch_config.h"
#include "models/machine/host/host_config.h"
#include "models/machine/iommu/iommu_config.h"
#include "models/machine/pcie/pcie_config.h"
#include "models/machine/peer_device/peer_device_config.h"
#include "models/machine/rtl_device/rtl_device_config.h"
#include "models/system/fault_schedule.h"

namespace hcasim {

struct node_config {
  std::string beside;  // empty = a host of its own
  host_config host;
  pcie_config pcie;
  iommu_config iommu;
  hca_config hca;
  driver::driver_config driver;
  std::array<peer_device_config, 2> peer;   // none by default
  std::array<rtl_device_config, 2> device;  // none by default

  void knobs(knob_visitor& k) {
    k.text("beside", beside,
           "the earlier node, as node0, whose host the adapter is in, with host, PCIe and memory; empty: its own host");
    k.group("host", host, "memory and software costs");
    k.group("pcie", pcie, "root complex and links");
    k.group("iommu", iommu, "translation of what devices ask of memory");
    k.group("hca", hca, "the adapter");
    k.group("driver", driver, "the host driver");
    k.group("peer0", peer[0], "a peer device in the same PCIe tree");
    k.group("peer1", peer[1], "another one");
    k.group("device0", device[0], "a device of a user's own, as RTL");
    k.group("device1", device[1], "another one");
  }
};

// How the adapters are joined: two by a cable for each port, any number by one switch. One alone talks to itself, by a cable
// between its ports if there are two.
enum class topology : std::uint8_t { automatic, direct, with_switch };

struct system_config {
  std::uint64_t seed = 1;
  topology fabric = topology::automatic;
  std::vector<node_config> nodes{2};
  link_config link;
  switch_config ib_switch;
  // A link may lead to an end outside the nodes, for a testbench that builds on the fabric (system::plug_outside). Its LIDs:
  struct outside_lids {
    std::uint16_t first = 0;
    std::uint16_t count = 0;  // 0 = there is none
  } outside;
  ps stall_limit = 20000_ms;
  std::uint64_t stall_events = 50'000'000;
  std::vector<fault_order> faults;

  void knobs(knob_visitor& k) {
    k.choice("topology", fabric, {"automatic", "direct", "switch"},
             "how the nodes are joined; automatic: directly when there are two, by a switch when there are more");
    for (std::size_t i = 0; i < nodes.size(); ++i) k.group("node" + std::to_string(i), nodes[i], "an adapter and its host");
    k.group("link", link, "every InfiniBand link");
    k.group("switch", ib_switch, "the InfiniBand switch");
    k.enter("system", "all of it");
    k.time("stall_limit", stall_limit, 1_ns, never,
           "time without progress, while something waits, after which a run ends; never: no limit");
    k.count("stall_events", stall_events, 0, 1e15,
            "events without progress, while something waits, after which a run ends; 0: no limit");
    k.leave();
  }
};

}  // namespace hcasim
