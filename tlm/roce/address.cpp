#include "tlm/roce/address.h"

#include <charconv>

namespace hcasim::gateway {

std::optional<ip_address> parse_ip(std::string_view text) {
  ip_address out = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return std::nullopt;
    unsigned value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value > 255 || behind - at > 3) return std::nullopt;
    at = behind;
    out = out << 8 | value;
  }
  if (at != end) return std::nullopt;
  return out;
}

std::string to_text(ip_address a) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += std::to_string(a >> shift & 0xff);
    if (shift > 0) out += '.';
  }
  return out;
}

std::optional<ip_address> network::ip_of(std::uint16_t lid) const {
  if (lid >= 1 && lid <= nodes_) return first_ + lid - 1;
  if (lid < first_outside_lid || lid >= first_outside_lid + hosts) return std::nullopt;
  const ip_address a = (first_ & ~low) | (lid - first_outside_lid);
  if (is_node(a)) return std::nullopt;
  return a;
}

std::uint16_t network::lid_of(ip_address a) const {
  if (!contains(a)) return 0;
  if (is_node(a)) return static_cast<std::uint16_t>(a - first_ + 1);
  return static_cast<std::uint16_t>(first_outside_lid + (a & low));
}

}  // namespace hcasim::gateway
