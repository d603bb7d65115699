// The number of the node that a thread or an object of verbs belongs to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "models/driver/device/device.h"
#include "models/machine/host/host.h"

namespace hcasim {

inline std::size_t node_number(const host& h) {
  const std::string_view name = h.name();
  const std::size_t at = name.find("node");
  return at == std::string_view::npos ? 0 : std::stoul(std::string(name.substr(at + 4)));
}
inline std::size_t node_of(const verbs::ibv_context* context) {
  return node_number(context->device->machine());
}

}  // namespace hcasim
