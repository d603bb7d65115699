// The fields of items by name, for files and options: their bits, and the kinds of items that have them. The file stream.py has
// the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

struct item_field {
  std::string_view name;
  unsigned word;
  unsigned low;
  unsigned bits;
  std::uint32_t kinds;  // a bit each, from the first kind up
  bool free = false;    // true = no other field of a stream depends on this one

  [[nodiscard]] bool of(unsigned kind) const { return kinds >> kind & 1; }
  [[nodiscard]] std::uint64_t most() const { return ~std::uint64_t{0} >> (64 - bits); }
  [[nodiscard]] std::uint64_t get(const item& i) const { return i[word] >> low & most(); }
  void set(item& i, std::uint64_t value) const { i[word] = (i[word] & ~(most() << low)) | value << low; }
};

// Returns the names of a unit's kinds, by number. `unit`: one of bench_names().
std::span<const std::string_view> item_kinds(std::string_view unit);
// Returns the kinds that set memory, a bit each. They have no answer.
std::uint32_t kinds_of_memory(std::string_view unit);
// Returns the kinds that change what requests find: drains, drops, changes. 0 = the unit has requests alone.
std::uint32_t kinds_of_events(std::string_view unit);
std::span<const item_field> item_fields(std::string_view unit);
inline unsigned kind_of(const item& i) {
  return i[0] & 0xff;
}

}  // namespace hcasim::lockstep
