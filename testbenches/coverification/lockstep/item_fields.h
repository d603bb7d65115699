// The fields of items by name, for files and options: where each lies, and which kinds of items it means something for.
// stream.py has the same places.
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
  bool free = false;    // nothing else of a stream follows from it

  [[nodiscard]] bool of(unsigned kind) const { return kinds >> kind & 1; }
  [[nodiscard]] std::uint64_t most() const { return ~std::uint64_t{0} >> (64 - bits); }
  [[nodiscard]] std::uint64_t get(const item& i) const { return i[word] >> low & most(); }
  void set(item& i, std::uint64_t value) const { i[word] = (i[word] & ~(most() << low)) | value << low; }
};

// Kinds by their numbers, of a unit that bench_names() has.
std::span<const std::string_view> item_kinds(std::string_view unit);
// Kinds that say what there is in memory; nothing answers them.
std::uint32_t kinds_of_memory(std::string_view unit);
std::span<const item_field> item_fields(std::string_view unit);
inline unsigned kind_of(const item& i) {
  return i[0] & 0xff;
}

}  // namespace hcasim::lockstep
