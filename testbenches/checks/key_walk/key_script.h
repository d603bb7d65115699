// A sequence of orders to the protection model of a whole system: what rapidcheck makes, what a failing test prints, and what
// can be run again. One line an order: its name and its numbers, which are taken modulo whatever they choose from.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace hcasim::testing {

enum class key_order : std::uint8_t {
  reg,       // region, rights, first, length
  dereg,     // region
  rereg,     // region, rights
  bind_1,    // window, lane, region, rights, first, length
  bind_2,    // likewise
  inv,       // lane, object, stale
  send_inv,  // lane, object, stale
  fast,      // region, lane, rights
  add,       // space, piece
  remove,    // space, piece
  access,    // lane, object, use, first, length, stale
  local,     // lane, object, write, first, length, stale
  renew,     // lane: destroys its QP and makes another one
  orders
};

struct key_step {
  key_order order = key_order::reg;
  std::array<std::uint32_t, 6> n{};

  bool operator==(const key_step&) const = default;
};

std::ostream& operator<<(std::ostream& out, const key_step& s);
std::string text_of(const std::vector<key_step>& script);
// Throws std::invalid_argument with the line.
std::vector<key_step> parse_script(const std::string& text);

}  // namespace hcasim::testing
