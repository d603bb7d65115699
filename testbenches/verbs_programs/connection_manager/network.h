// The simulated network as the connection manager knows it, and its way to let time pass.
#pragma once

#include <cstdint>
#include <functional>

#include "tlm/base/units.h"

namespace hcasim::applications::cm {

inline constexpr std::uint64_t gid_prefix = 0xfe80'0000'0000'0000;

inline constexpr std::uint8_t ip_gid_index = 3;  // in a table of RoCE's GIDs, the one of the IP address, by RoCEv2

struct port {
  std::uint64_t guid = 0;
  std::uint16_t lid = 0;
  std::uint8_t mtu = 0;   // as enum ib_mtu
  std::uint8_t rate = 0;  // as enum ib_rate
  bool ethernet = false;  // shows itself as RoCE: GIDs are IP addresses, and there are no LIDs
};

class network {
 public:
  network() = default;
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  virtual ~network() = default;

  [[nodiscard]] virtual std::uint32_t nodes() const = 0;
  [[nodiscard]] virtual port port_of(std::uint32_t node) const = 0;
  // Runs `what` after `delay`. Actions due at the same time run in the order of the calls.
  virtual void later(ps delay, std::function<void()> what) = 0;
};

}  // namespace hcasim::applications::cm
