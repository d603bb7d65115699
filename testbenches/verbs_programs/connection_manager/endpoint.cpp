#include "testbenches/verbs_programs/connection_manager/endpoint.h"

#include <endian.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hcasim::applications::cm {
namespace {

constexpr std::uint32_t loopback = 127U << 24;
constexpr std::uint32_t low_byte = 0xff;
constexpr std::size_t mapped_at = 12;  // of an IPv4 address in an IPv6 one

std::uint32_t node_of(std::uint32_t ipv4) {
  if (ipv4 == INADDR_ANY) return any_node;
  const std::uint32_t last = ipv4 & low_byte;
  return (ipv4 & ~low_byte) == loopback && last != 0 ? last - 1 : unknown_node;
}
std::uint32_t ipv4_of(std::uint32_t node) {
  return node == any_node ? INADDR_ANY : loopback | ((node + 1) & low_byte);
}

std::uint32_t node_of(const in6_addr& a, std::uint32_t self) {
  if (IN6_IS_ADDR_UNSPECIFIED(&a)) return any_node;
  if (IN6_IS_ADDR_LOOPBACK(&a)) return self;
  if (!IN6_IS_ADDR_V4MAPPED(&a)) return unknown_node;
  std::uint32_t v4 = 0;
  std::memcpy(&v4, a.s6_addr + mapped_at, sizeof v4);
  return node_of(ntohl(v4));
}

// The group GID of an IP address has the form of IPoIB with the mark of RDMA CM (ip_ib_mc_map and cma_set_mgid of Linux). Its
// parts are the scope, the kind of address, the default partition, and the low bits of the address.
constexpr std::uint8_t link_local = 0x12;
constexpr std::uint8_t of_ipv4[] = {0xff, link_local, 0x40, 0x01, 0xff, 0xff};
constexpr std::uint8_t of_ipv6[] = {0xff, link_local, 0x60, 0x01, 0xff, 0xff};

gid group_of(std::uint32_t ipv4) {
  constexpr std::uint32_t kept = 0x0fff'ffff;
  gid g{};
  std::copy(std::begin(of_ipv4), std::end(of_ipv4), g.begin());
  for (unsigned i = 0; i < 4; ++i) g[12 + i] = static_cast<std::uint8_t>((ipv4 & kept) >> (24 - 8 * i));
  return g;
}

gid group_of(const in6_addr& a) {
  gid g{};
  std::copy(std::begin(of_ipv6), std::end(of_ipv6), g.begin());
  std::copy(a.s6_addr + 6, a.s6_addr + 16, g.begin() + 6);
  return g;
}

// An IPv6 address that a subnet administrator has given out is the group's GID itself (cma_set_mgid).
bool is_group_gid(const in6_addr& a) {
  return (a.s6_addr[1] & 0xf0) == 0x10 && a.s6_addr[2] == 0xa0 && a.s6_addr[3] == 0x1b;
}

gid raw(const void* bytes) {
  gid g;
  std::memcpy(g.data(), bytes, g.size());
  return g;
}

in6_addr mapped(std::uint32_t ipv4) {
  in6_addr a{};
  a.s6_addr[10] = a.s6_addr[11] = 0xff;
  const std::uint32_t v4 = htonl(ipv4);
  std::memcpy(a.s6_addr + mapped_at, &v4, sizeof v4);
  return a;
}
std::optional<std::uint32_t> ipv4_of(const gid& g) {
  in6_addr a;
  std::memcpy(&a, g.data(), sizeof a);
  if (!IN6_IS_ADDR_V4MAPPED(&a)) return std::nullopt;
  std::uint32_t v4 = 0;
  std::memcpy(&v4, a.s6_addr + mapped_at, sizeof v4);
  return ntohl(v4);
}

template <class Address>
std::optional<Address> take(const void* address, std::size_t bytes) {
  Address out{};
  if (bytes < sizeof out) return std::nullopt;
  std::memcpy(&out, address, sizeof out);
  return out;
}

template <class Address>
std::size_t put(const Address& a, __kernel_sockaddr_storage& out) {
  std::memcpy(&out, &a, sizeof a);
  return sizeof a;
}

}  // namespace

gid gid_of(std::uint32_t node, const network& net) {
  const port p = net.port_of(node);
  if (p.ethernet) return raw(mapped(ipv4_of(node)).s6_addr);
  const std::uint64_t words[] = {htobe64(gid_prefix), htobe64(p.guid)};
  return raw(words);
}

std::uint32_t node_of(const gid& g, const network& net) {
  if (g == gid{}) return any_node;
  if (const auto v4 = ipv4_of(g)) {
    const std::uint32_t n = node_of(*v4);
    return n < net.nodes() ? n : unknown_node;
  }
  std::uint64_t words[2];
  std::memcpy(words, g.data(), sizeof words);
  if (be64toh(words[0]) != gid_prefix) return unknown_node;
  for (std::uint32_t n = 0; n < net.nodes(); ++n) {
    if (net.port_of(n).guid == be64toh(words[1])) return n;
  }
  return unknown_node;
}

gid fabric_group(const gid& g) {
  if (g[0] == 0xff) return g;
  const auto v4 = ipv4_of(g);
  return v4 && IN_MULTICAST(*v4) ? group_of(*v4) : gid{};
}

std::optional<endpoint> read_address(const void* address, std::size_t bytes, std::uint32_t self, const network& net) {
  const auto family = take<std::uint16_t>(address, bytes);
  if (!family) return std::nullopt;
  if (*family == AF_INET) {
    const auto a = take<sockaddr_in>(address, bytes);
    if (!a) return std::nullopt;
    const std::uint32_t v4 = ntohl(a->sin_addr.s_addr);
    if (IN_MULTICAST(v4)) return endpoint{*family, unknown_node, ntohs(a->sin_port), group_of(v4)};
    return endpoint{*family, node_of(v4), ntohs(a->sin_port)};
  }
  if (*family == AF_INET6) {
    const auto a = take<sockaddr_in6>(address, bytes);
    if (!a) return std::nullopt;
    if (IN6_IS_ADDR_MULTICAST(&a->sin6_addr)) {
      const bool whole = is_group_gid(a->sin6_addr);
      return endpoint{*family, unknown_node, ntohs(a->sin6_port), whole ? raw(a->sin6_addr.s6_addr) : group_of(a->sin6_addr)};
    }
    return endpoint{*family, node_of(a->sin6_addr, self), ntohs(a->sin6_port)};
  }
  if (*family != ib_family) return std::nullopt;
  const auto a = take<ib_sockaddr>(address, bytes);
  if (!a) return std::nullopt;
  if (raw(a->gid)[0] == 0xff) return endpoint{*family, unknown_node, 0, raw(a->gid)};
  return endpoint{*family, node_of(raw(a->gid), net),
                  static_cast<std::uint16_t>(be64toh(a->service) & be64toh(a->service_mask))};
}

namespace {

// Puts the part of an IP address that the GID has kept.
std::size_t put_group(const endpoint& e, __kernel_sockaddr_storage& out) {
  if (e.family == AF_INET) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(e.port);
    std::memcpy(&a.sin_addr, e.group.data() + 12, 4);
    a.sin_addr.s_addr |= htonl(0xe000'0000);
    return put(a, out);
  }
  if (e.family == AF_INET6) {
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_port = htons(e.port);
    std::copy(e.group.begin(), e.group.end(), a.sin6_addr.s6_addr);
    return put(a, out);
  }
  ib_sockaddr a{};
  a.family = ib_family;
  a.pkey = 0xffff;
  std::memcpy(a.gid, e.group.data(), e.group.size());
  return put(a, out);
}

}  // namespace

std::size_t write_address(const endpoint& e, std::uint16_t space, const network& net, __kernel_sockaddr_storage& out) {
  std::memset(&out, 0, sizeof out);
  if (e.is_group()) return put_group(e, out);
  if (e.family == AF_INET) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(e.port);
    a.sin_addr.s_addr = htonl(ipv4_of(e.node));
    return put(a, out);
  }
  if (e.family == AF_INET6) {
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_port = htons(e.port);
    if (e.node != any_node) a.sin6_addr = mapped(ipv4_of(e.node));
    return put(a, out);
  }
  if (e.family != ib_family) return 0;
  ib_sockaddr a{};
  a.family = ib_family;
  a.pkey = 0xffff;
  if (e.node != any_node) std::memcpy(a.gid, gid_of(e.node, net).data(), sizeof a.gid);
  a.service = htobe64(std::uint64_t{space} << 16 | e.port);
  a.service_mask = ~std::uint64_t{0};
  return put(a, out);
}

}  // namespace hcasim::applications::cm
