// Hosts outside: where frames to them go. Learned from ARP and from packets that are intact.
#pragma once

#include <array>

#include "testbenches/gateway/outside.h"
#include "tlm/roce/address.h"

namespace hcasim::gateway {

// The hosts of one network, by the last byte of the address.
class neighbours {
 public:
  struct host {
    bool known = false;
    mac_address mac{};
    outside::remote at = 0;
    ps asked = never;  // when it was last asked for; never: it was not
  };

  [[nodiscard]] host& of(ip_address a) { return hosts_[a % network::hosts]; }
  void learn(ip_address a, const mac_address& mac, outside::remote at) {
    host& h = of(a);
    h.known = true;
    h.mac = mac;
    h.at = at;
  }

 private:
  std::array<host, network::hosts> hosts_{};
};

}  // namespace hcasim::gateway
