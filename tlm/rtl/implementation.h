// Whether a unit of an adapter is the SystemC model or Verilated RTL behind the same sockets.
#pragma once

#include <cstdint>

namespace hcasim {

enum class implementation : std::uint8_t { model, rtl };

}  // namespace hcasim
