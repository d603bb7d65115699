// Targets of packets, in the terms of the verbs and of the adapter.
#pragma once

#include "firmware/abi/route.h"
#include "models/driver/verbs/verbs.h"

namespace hcasim::driver {

class device;

constexpr std::uint32_t flow_of(const verbs::ibv_global_route& r) {
  return (r.flow_label & 0xfffff) | static_cast<std::uint32_t>(r.traffic_class) << 20;
}

// Returns whether a packet can be sent there. Port, service level and GID index exist, and LID and GID are both a group's or
// both not.
bool address_ok(const device& d, const verbs::ibv_ah_attr& a);
// Returns whether the attributes are of one peer, which is no group.
bool peer_ok(const device& d, const verbs::ibv_ah_attr& a);
// Returns the route; all zeros = without a GRH.
hca_route route_to(const verbs::ibv_ah_attr& a);
// Returns the attributes of a route.
verbs::ibv_ah_attr address_of(std::uint8_t port, std::uint16_t lid, std::uint8_t service_level, const hca_route& r);

}  // namespace hcasim::driver
