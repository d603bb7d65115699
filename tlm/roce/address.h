// Addresses outside the fabric, and which LID of the fabric stands for each: the hosts of one IPv4 network of 256.
//
// The simulated nodes are hosts first, first + 1 ... of the network, with LIDs 1, 2 ...; every other host has an LID of its own
// at the gateway's port. A GID outside is the IPv4 address in IPv6 form (::ffff:a.b.c.d), as RoCEv2 has it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hcasim::gateway {

using mac_address = std::array<std::uint8_t, 6>;
using ip_address = std::uint32_t;  // a.b.c.d is 0xaabbccdd

inline constexpr mac_address everybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

std::optional<ip_address> parse_ip(std::string_view text);
std::string to_text(ip_address a);

class network {
 public:
  // LIDs of hosts outside; all others are nodes' or unused.
  static constexpr std::uint16_t first_outside_lid = 0x8000;
  static constexpr std::uint32_t hosts = 256;

  // `first`: of node 0. There are `nodes` of them, and the last one is within the network.
  network(ip_address first, std::uint32_t nodes) : first_(first), nodes_(nodes) {}

  // The network has room for a node's address: it is none of the first and the last of the network.
  static bool has_room(ip_address first, std::uint32_t nodes) { return (first & low) != 0 && (first & low) + nodes < hosts; }

  [[nodiscard]] bool contains(ip_address a) const { return (a & ~low) == (first_ & ~low); }
  [[nodiscard]] bool is_node(ip_address a) const { return a >= first_ && a - first_ < nodes_; }
  [[nodiscard]] ip_address node(std::uint32_t n) const { return first_ + n; }
  [[nodiscard]] std::optional<ip_address> ip_of(std::uint16_t lid) const;
  // Returns the LID of a host of the network; 0 = it is none.
  [[nodiscard]] std::uint16_t lid_of(ip_address a) const;
  // Returns the address of a node: locally administered.
  [[nodiscard]] mac_address mac_of(ip_address node) const {
    return {0x02, 0x68, 0x63, 0x61, 0x00, static_cast<std::uint8_t>(node)};
  }

 private:
  static constexpr ip_address low = hosts - 1;

  ip_address first_;
  std::uint32_t nodes_;
};

// The halves of a GID, in the host's order.
struct gid {
  std::uint64_t prefix = 0;
  std::uint64_t interface = 0;
};
inline constexpr std::uint64_t mapped_ip = 0x0000'ffff'0000'0000;
constexpr gid gid_of(ip_address a) {
  return {0, mapped_ip | a};
}
constexpr std::optional<ip_address> ip_of(const gid& g) {
  if (g.prefix != 0 || (g.interface >> 32) != mapped_ip >> 32) return std::nullopt;
  return static_cast<ip_address>(g.interface);
}
constexpr bool is_group(ip_address a) {
  return a >> 28 == 0xe;
}
// True for ff..: and for the IPv4 address of a group.
constexpr bool is_group(const gid& g) {
  const auto ip = ip_of(g);
  return g.prefix >> 56 == 0xff || (ip && is_group(*ip));
}
// Returns the IPv4 group of a multicast GID: its low 28 bits, as in IP over InfiniBand (RFC 4391).
constexpr ip_address group_ip(const gid& g) {
  return 0xe000'0000 | static_cast<ip_address>(g.interface & 0x0fff'ffff);
}
// Returns 01:00:5e and the low 23 bits of the group (RFC 1112).
constexpr mac_address group_mac(ip_address group) {
  return {0x01,
          0x00,
          0x5e,
          static_cast<std::uint8_t>(group >> 16 & 0x7f),
          static_cast<std::uint8_t>(group >> 8),
          static_cast<std::uint8_t>(group)};
}

}  // namespace hcasim::gateway
