// GIDs that lead out of the fabric, when it has a gateway: what a node's own is there, and which LID stands for one.
#pragma once

#include <cstdint>

#include "testbenches/applications/channel/queue_requests.h"

namespace hcasim::applications {

class gid_map {
 public:
  gid_map() = default;
  gid_map(const gid_map&) = delete;
  gid_map& operator=(const gid_map&) = delete;
  virtual ~gid_map() = default;

  [[nodiscard]] virtual channel::gid of_node(std::uint32_t node) const = 0;
  // 0: nobody's.
  [[nodiscard]] virtual std::uint16_t lid_of(const channel::gid& g) const = 0;
};

}  // namespace hcasim::applications
