// Addresses as programs write them. A node has an IPv4 address (127.0.0.1 is node0), the same address in IPv6, and a GID. A
// multicast group has an address of each kind, too.
#pragma once

#include <linux/socket.h>

#include <array>
#include <cstdint>
#include <optional>

#include "testbenches/verbs_programs/connection_manager/network.h"

namespace hcasim::applications::cm {

inline constexpr std::uint32_t any_node = ~std::uint32_t{0};
inline constexpr std::uint32_t unknown_node = any_node - 1;

using gid = std::array<std::uint8_t, 16>;

struct endpoint {
  std::uint16_t family = 0;  // AF_INET, AF_INET6 or AF_IB; 0 = none
  std::uint32_t node = any_node;
  std::uint16_t port = 0;
  gid group{};  // the group's GID; zeros = this is a node

  [[nodiscard]] bool is_group() const { return group[0] == 0xff; }
};

inline constexpr std::uint16_t ib_family = 27;  // AF_IB

// sockaddr_ib of librdmacm and the kernel; numbers in network order.
struct ib_sockaddr {
  std::uint16_t family;
  std::uint16_t pkey;
  std::uint32_t flow;
  std::uint64_t gid[2];
  std::uint64_t service;
  std::uint64_t service_mask;
  std::uint64_t scope;
};

// Returns the GID by which RDMA CM reaches a port: for RoCE the GID of its IP address.
gid gid_of(std::uint32_t node, const network& net);
// Returns the node with this GID, which holds its GUID or IPv4 address. GID of zeros = any_node; no such node = unknown_node.
std::uint32_t node_of(const gid& g, const network& net);
// Returns the fabric's GID for this group: RoCE names a group by its IPv4 address. Zeros = the GID names no group.
gid fabric_group(const gid& g);

// Reads an address; none = of no known family, or cut short. `self`: the node of the program, which loopback addresses mean.
std::optional<endpoint> read_address(const void* address, std::size_t bytes, std::uint32_t self, const network& net);
// Writes an address and returns its size in bytes. `space`: the port space, with which a service identifier begins.
std::size_t write_address(const endpoint& e, std::uint16_t space, const network& net, __kernel_sockaddr_storage& out);

}  // namespace hcasim::applications::cm
