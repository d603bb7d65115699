// A packet of the fabric and the transport part of a RoCEv2 frame: the bytes from the BTH to the pad are the same in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tlm/packet.h"

namespace hcasim::gateway {

// BTH to pad, behind LRH and, if there is one, GRH. Empty = it is no packet with a BTH.
std::span<const std::byte> transport_of(const packet& p);

struct local_route {
  std::uint16_t from = 0;  // LIDs
  std::uint16_t to = 0;
  std::uint8_t service_level = 0;
  std::uint8_t lane = 0;
};
// Makes `p` the packet of these bytes, with a header that is parsed and the ICRC of the fabric. False = they are none of a
// known opcode, or of a length that does not fit; `p` is of no use then.
bool to_fabric(packet& p, const local_route& r, std::span<const std::byte> transport);

}  // namespace hcasim::gateway
