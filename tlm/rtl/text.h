// Numbers in messages.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hcasim::rtl {

inline std::string hexadecimal(std::uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, v);
  return text;
}

}  // namespace hcasim::rtl
