#include "testbenches/gateway/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace hcasim::gateway {
namespace {

bool is_loopback(ip_address a) {
  return a >> 24 == 127;
}

sockaddr_in as_socket_address(const udp_address& a) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(a.port);
  out.sin_addr.s_addr = htonl(a.ip);
  return out;
}

}  // namespace

udp_address parse_loopback(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto ip = parse_ip(text.substr(0, colon));
  unsigned port = 0;
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (!ip || error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) {
    throw std::invalid_argument(fmt::format("'{}' is not an address and port; write 127.0.0.1:47911", text));
  }
  if (!is_loopback(*ip)) {
    throw std::invalid_argument(
        fmt::format("{} is not on the loopback, and no frame leaves that; use an address 127.x.y.z", text));
  }
  return {*ip, static_cast<std::uint16_t>(port)};
}

std::string to_text(const udp_address& a) {
  return fmt::format("{}:{}", to_text(a.ip), a.port);
}

loopback::loopback(const udp_address& own, const std::optional<udp_address>& peer)
    : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!is_loopback(own.ip) || (peer && !is_loopback(peer->ip))) throw std::invalid_argument("not on the loopback");
  const sockaddr_in a = as_socket_address(own);
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
    const int why = errno;
    throw std::invalid_argument(fmt::format("{} cannot be listened at: {}{}", to_text(own), std::strerror(why),
                                            why == EADDRINUSE ? "; another run or program has it, choose another port" : ""));
  }
  if (peer) remotes_.push_back(*peer);
  constexpr int large = 4 << 20;  // limited by the system
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
  constexpr int yes = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof yes);
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // naps are of microseconds
}

ps loopback::wall() {
  if (!begin_) begin_ = clock::now();
  return ps(std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - *begin_).count() * 1000);
}

void loopback::wait(ps most) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(most).count();
  constexpr long second = 1'000'000'000;
  const timespec limit{ns / second, ns % second};
  pollfd there{socket_.get(), POLLIN, 0};
  ::ppoll(&there, 1, &limit, nullptr);
}

std::optional<outside::arrival> loopback::receive() {
  for (;;) {
    sockaddr_in from{};
    iovec part{room_.data(), room_.size()};
    alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(std::uint32_t))];
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside;
    message.msg_controllen = sizeof beside;
    const ssize_t n = ::recvmsg(socket_.get(), &message, 0);
    if (n < 0) {
      // ECONNREFUSED: the peer of an earlier send is gone; the kernel reports this once.
      if (errno == ECONNREFUSED || errno == EINTR) continue;
      return std::nullopt;
    }
    for (cmsghdr* m = CMSG_FIRSTHDR(&message); m; m = CMSG_NXTHDR(&message, m)) {
      if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SO_RXQ_OVFL) continue;
      std::uint32_t so_far = 0;
      std::memcpy(&so_far, CMSG_DATA(m), sizeof so_far);
      overflowed_ += so_far - static_cast<std::uint32_t>(overflowed_);  // the kernel's counter has 32 bits
    }
    if (const auto who = remote_of({ntohl(from.sin_addr.s_addr), ntohs(from.sin_port)})) {
      return arrival{std::span(room_).first(static_cast<std::size_t>(n)), *who};
    }
  }
}

std::optional<outside::remote> loopback::remote_of(const udp_address& a) {
  const auto known = std::find(remotes_.begin(), remotes_.end(), a);
  if (known == remotes_.end()) {
    if (remotes_.size() == most_remotes || !is_loopback(a.ip)) return std::nullopt;
    remotes_.push_back(a);
    return remotes_.size() - 1;
  }
  return static_cast<remote>(known - remotes_.begin());
}

bool loopback::send(std::span<const std::byte> frame, remote to) {
  const sockaddr_in a = as_socket_address(remotes_.at(to));
  ssize_t n = -1;
  do {
    n = ::sendto(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&a), sizeof a);
  } while (n < 0 && (errno == EINTR || errno == ECONNREFUSED));
  return n == static_cast<ssize_t>(frame.size());
}

}  // namespace hcasim::gateway
