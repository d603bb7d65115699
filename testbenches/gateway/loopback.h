// Frames as datagrams on the loopback, as QEMU's `-netdev dgram` sends them: one frame, one datagram. No address but those of
// 127.0.0.0/8 is ever bound or sent to.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/gateway/outside.h"
#include "testbenches/verbs_programs/simulator/waiting.h"
#include "tlm/roce/frame.h"

namespace hcasim::gateway {

struct udp_address {
  ip_address ip = 0;
  std::uint16_t port = 0;
  bool operator==(const udp_address&) const = default;
};
// "127.0.0.1:4791". Throws std::invalid_argument, with the mend.
udp_address parse_loopback(std::string_view text);
std::string to_text(const udp_address& a);

class loopback final : public outside {
 public:
  static constexpr std::size_t most_remotes = 16;

  // Throws std::invalid_argument: the address is no loopback's, or is taken. `peer` is known from the start; others become
  // known by what they send, as far as there is room.
  loopback(const udp_address& own, const std::optional<udp_address>& peer);

  ps wall() override;
  void wait(ps most) override;
  std::optional<arrival> receive() override;
  [[nodiscard]] std::size_t remotes() const override { return remotes_.size(); }
  [[nodiscard]] std::uint64_t overflowed() const override { return overflowed_; }
  bool send(std::span<const std::byte> frame, remote to) override;

 private:
  using clock = std::chrono::steady_clock;

  std::optional<remote> remote_of(const udp_address& a);

  applications::descriptor socket_;
  std::vector<udp_address> remotes_;
  std::array<std::byte, 1 << 16> room_;
  std::uint64_t overflowed_ = 0;
  std::optional<clock::time_point> begin_;
};

}  // namespace hcasim::gateway
