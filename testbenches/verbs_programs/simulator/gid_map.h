// GIDs that lead out of the fabric, when it has a gateway: what a node's own is there, and which LID stands for one.
#pragma once

#include <cstdint>

namespace hcasim::applications {

// Its halves, in the host's order.
struct gid {
  std::uint64_t prefix, interface;
};

// Values of enum ibv_gid_type.
enum class gid_type : std::uint32_t { infiniband, roce_v1, roce_v2 };
struct port_gid {
  gid value;
  gid_type type;
};

class gid_map {
 public:
  gid_map() = default;
  gid_map(const gid_map&) = delete;
  gid_map& operator=(const gid_map&) = delete;
  virtual ~gid_map() = default;

  [[nodiscard]] virtual gid of_node(std::uint32_t node) const = 0;
  // 0 = of no host.
  [[nodiscard]] virtual std::uint16_t lid_of(const gid& g) const = 0;
};

}  // namespace hcasim::applications
