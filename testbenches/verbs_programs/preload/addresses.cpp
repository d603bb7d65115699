#include "testbenches/verbs_programs/preload/addresses.h"

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "testbenches/verbs_programs/preload/connection.h"

namespace hcasim::preload {
namespace {

constexpr std::uint32_t loopback = 127U << 24;
constexpr std::uint32_t low_byte = 0xff;

struct place {
  bool known = false;
  std::uint32_t network = 0;  // 127.x.y.0, in the host's order
  std::uint32_t own = 1;      // the node's last byte
  std::uint32_t outside = 0;  // the network that a gateway leads to; 0 = there is none
};

const place& here() {
  static const place p = [] {
    place out;
    const char* text = ::getenv("HCASIM_LOOPBACK");
    unsigned x = 0;
    unsigned y = 0;
    if (!text || std::sscanf(text, "%u.%u", &x, &y) != 2) return out;
    out.known = true;
    out.network = 127U << 24 | (x & 255) << 16 | (y & 255) << 8;
    in_addr network{};
    const char* gateway = ::getenv("HCASIM_NETWORK");
    std::uint32_t first = 1;
    if (gateway && ::inet_pton(AF_INET, gateway, &network) == 1) {
      out.outside = ntohl(network.s_addr) & ~low_byte;
      first = ntohl(network.s_addr) & low_byte;
    }
    out.own = first + own_node();
    return out;
  }();
  return p;
}

// In the host's order. Any address is the node's own. With a gateway, nothing leaves the machine: an address neither on the
// loopback nor in the gateway's network has no listener.
std::uint32_t meant(std::uint32_t a) {
  if (a == INADDR_ANY) return here().network | here().own;
  if ((a & ~low_byte) == loopback) return here().network | (a & low_byte);
  if (here().outside == 0 || a >> 24 == loopback >> 24) return a;
  return here().network | ((a & ~low_byte) == here().outside ? a & low_byte : low_byte);
}
std::uint32_t shown(std::uint32_t a) {
  return (a & ~low_byte) == here().network ? loopback | (a & low_byte) : a;
}

template <class Change>
void change(sockaddr* a, socklen_t length, Change to) {
  if (!here().known || length < static_cast<socklen_t>(sizeof(sa_family_t))) return;
  if (a->sa_family == AF_INET && length >= static_cast<socklen_t>(sizeof(sockaddr_in))) {
    auto* in = reinterpret_cast<sockaddr_in*>(a);
    in->sin_addr.s_addr = htonl(to(ntohl(in->sin_addr.s_addr)));
  } else if (a->sa_family == AF_INET6 && length >= static_cast<socklen_t>(sizeof(sockaddr_in6))) {
    in6_addr& in = reinterpret_cast<sockaddr_in6*>(a)->sin6_addr;
    std::uint32_t v4 = INADDR_ANY;
    constexpr std::size_t mapped = 12;
    if (IN6_IS_ADDR_V4MAPPED(&in)) {
      std::memcpy(&v4, in.s6_addr + mapped, sizeof v4);
      v4 = ntohl(v4);
    } else if (IN6_IS_ADDR_LOOPBACK(&in)) {
      v4 = loopback | here().own;
    } else if (!IN6_IS_ADDR_UNSPECIFIED(&in)) {
      if (here().outside == 0) return;
      v4 = INADDR_NONE;
    }
    v4 = htonl(to(v4));
    in = {};
    in.s6_addr[10] = in.s6_addr[11] = 0xff;
    std::memcpy(in.s6_addr + mapped, &v4, sizeof v4);
  }
}

bool only_version_6(int fd) {
  int only = 0;
  socklen_t length = sizeof only;
  return ::getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &length) == 0 && only != 0;
}

// Returns the port of an address of this run; 0 = it is none.
in_port_t* port_of(sockaddr_storage& a) {
  if (a.ss_family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(a);
    return (ntohl(in.sin_addr.s_addr) & ~low_byte) == here().network ? &in.sin_port : nullptr;
  }
  auto& in6 = reinterpret_cast<sockaddr_in6&>(a);
  if (a.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return nullptr;
  std::uint32_t v4 = 0;
  std::memcpy(&v4, in6.sin6_addr.s6_addr + sizeof in6.sin6_addr - sizeof v4, sizeof v4);
  return (ntohl(v4) & ~low_byte) == here().network ? &in6.sin6_port : nullptr;
}

// Binds to the first free port, which is the same in every run. The system would draw a random port.
int bind_to_free_port(int fd, sockaddr_storage& a, socklen_t length) {
  constexpr std::uint32_t first = 32768;
  constexpr std::uint32_t last = 60999;
  int shared = 0;
  socklen_t size = sizeof shared;
  ::getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, &size);
  const int alone = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &alone, sizeof alone);
  int result = -1;
  for (std::uint32_t port = first; port <= last; ++port) {
    *port_of(a) = htons(static_cast<std::uint16_t>(port));
    result = static_cast<int>(::syscall(SYS_bind, fd, &a, length));
    if (result == 0 || errno != EADDRINUSE) break;
  }
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared);
  return result;
}

}  // namespace

void bind_before_connecting(int fd, const sockaddr* to, socklen_t length) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  if (!to || !mine() || !here().known || length > sizeof a) return;
  std::memcpy(&a, to, length);
  if (!port_of(a)) return;
  const int kept = errno;
  if (::syscall(SYS_getsockname, fd, &a, &size) == 0) {
    auto* own = reinterpret_cast<sockaddr*>(&a);
    change(own, size, meant);
    if (in_port_t* port = port_of(a); port && *port == 0) bind_to_free_port(fd, a, size);
  }
  errno = kept;
}

own_address::own_address(const sockaddr* a, socklen_t length) : shown_(a), length_(length) {
  if (!a || length > sizeof changed_ || !mine()) return;
  std::memcpy(&changed_, a, length);
  change(reinterpret_cast<sockaddr*>(&changed_), length, meant);
  shown_ = reinterpret_cast<const sockaddr*>(&changed_);
}

void show_address(sockaddr* a, socklen_t length) {
  if (!mine()) return;
  change(a, length, shown);
}

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int bind(int fd, const sockaddr* a, socklen_t length) noexcept {
  if (!mine() || !a || only_version_6(fd)) return static_cast<int>(::syscall(SYS_bind, fd, a, length));
  const own_address there(a, length);
  sockaddr_storage exact{};
  std::memcpy(&exact, there.get(), std::min<std::size_t>(there.length(), sizeof exact));
  const in_port_t* port = port_of(exact);
  if (port && *port == 0) return bind_to_free_port(fd, exact, there.length());
  return static_cast<int>(::syscall(SYS_bind, fd, there.get(), there.length()));
}

HCASIM_PUBLIC int getsockname(int fd, sockaddr* a, socklen_t* length) noexcept {
  const int result = static_cast<int>(::syscall(SYS_getsockname, fd, a, length));
  if (result == 0) show_address(a, *length);
  return result;
}

HCASIM_PUBLIC int getpeername(int fd, sockaddr* a, socklen_t* length) noexcept {
  const int result = static_cast<int>(::syscall(SYS_getpeername, fd, a, length));
  if (result == 0) show_address(a, *length);
  return result;
}
