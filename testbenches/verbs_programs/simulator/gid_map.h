// GIDs outside a fabric with a gateway: the GID of each node there, and the LID that stands for a GID outside.
#pragma once

#include <cstdint>

namespace hcasim::applications {

// The halves of a GID, in the host's byte order.
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
  // Returns the LID of the host that has the GID; 0 = no host.
  [[nodiscard]] virtual std::uint16_t lid_of(const gid& g) const = 0;
};

}  // namespace hcasim::applications
