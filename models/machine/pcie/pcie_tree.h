// The links between root complex and devices: one each, or a switch that shares its link to the root complex.
#pragma once

#include "models/machine/pcie/pcie_device.h"

namespace hcasim {

class pcie_tree {
 public:
  using stream = pcie_direction::stream;

  explicit pcie_tree(const pcie_timing& timing) : config_(timing.config), root_up_(timing), root_down_(timing) {}

  // Returns the TLPs of a burst on the last link of their way, from those on the first.
  stream to_root(const stream& s, const tlp_shape& shape, std::uint64_t header) {
    return config_.has_switch ? root_up_.cross(s, switch_hop(), shape, header) : s;
  }
  stream from_root(pcie_device& d, const stream& s, const tlp_shape& shape, std::uint64_t header) {
    return config_.has_switch ? d.down.cross(s, switch_hop(), shape, header) : s;
  }
  // Returns when the last TLP has reached the peer, coming from another device's link.
  ps to_peer(pcie_device& d, const stream& s, const tlp_shape& shape, std::uint64_t header) {
    const ps hop = config_.link_latency + (config_.has_switch ? config_.switch_latency : config_.root_forward_latency);
    return d.down.cross(s, hop, shape, header).end + config_.link_latency;
  }
  // Returns the first link from the root complex to a device.
  [[nodiscard]] pcie_direction& first_down(pcie_device& d) { return config_.has_switch ? root_down_ : d.down; }

  void list(statistics& s, probes& p) {
    if (!config_.has_switch) return;
    root_up_.list("root_up", s, p);
    root_down_.list("root_down", s, p);
  }

 private:
  [[nodiscard]] ps switch_hop() const { return config_.link_latency + config_.switch_latency; }

  const pcie_config& config_;
  pcie_direction root_up_, root_down_;
};

}  // namespace hcasim
