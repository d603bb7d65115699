// The addresses of an adapter's ports, by number from 0. A port that the adapter lacks stands for port 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "firmware/abi/route.h"

namespace hcasim {

class port_addresses {
 public:
  // `second`: the LID of port 1; 0 = there is port 0 alone.
  explicit port_addresses(std::uint16_t first, std::uint16_t second = 0)
      : count_(second != 0 ? 2 : 1),
        lid_{first, second != 0 ? second : first},
        gid_{hca_port_gid(lid_[0]), hca_port_gid(lid_[1])} {}

  [[nodiscard]] unsigned count() const { return count_; }
  [[nodiscard]] unsigned existing(unsigned port) const { return port < count_ ? port : 0; }
  [[nodiscard]] std::uint16_t lid(unsigned port) const { return lid_[port]; }
  [[nodiscard]] const hca_gid& gid(unsigned port) const { return gid_[port]; }

 private:
  unsigned count_;
  std::array<std::uint16_t, HCA_PORTS> lid_;
  std::array<hca_gid, HCA_PORTS> gid_;
};

}  // namespace hcasim
