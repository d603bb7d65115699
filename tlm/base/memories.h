// One line declares an on-chip memory of a unit, computed from its knobs: name, kind, entries, bits of an entry, meaning.
//
//   inline void memories(const walker_config& c, memory_list& m) {
//     m.add("walks", memory_kind::state, c.walkers, bits_of(sizeof(hca_pte)), "walks in progress");
//   }
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/base/replacement/policies.h"

namespace hcasim {

// A CAM compares every entry with each lookup, so a bit of it costs more than a bit of the others.
enum class memory_kind : std::uint8_t { data, tag, state, cam };
constexpr std::string_view name_of(memory_kind k) {
  constexpr std::string_view names[] = {"data", "tag", "state", "CAM"};
  return names[static_cast<std::size_t>(k)];
}

struct on_chip_memory {
  std::string unit;  // node0.hca.mrc_cache
  std::string name;
  memory_kind kind;
  std::uint64_t entries;
  std::uint64_t entry_bits;
  std::string_view help;

  [[nodiscard]] std::uint64_t bits() const { return entries * entry_bits; }
};

class memory_list {
 public:
  // Adds a memory of the unit that was entered last. A memory without bits is left out.
  void add(std::string_view name, memory_kind kind, std::uint64_t entries, std::uint64_t entry_bits, std::string_view help) {
    if (entries * entry_bits != 0) list_.push_back({unit_, std::string(name), kind, entries, entry_bits, help});
  }
  // Declares the memories of a unit inside the present one: `declare` adds them.
  template <class F>
  void within(std::string_view name, F declare) {
    const std::string outer = unit_;
    if (!unit_.empty()) unit_ += '.';
    unit_ += name;
    declare();
    unit_ = outer;
  }
  [[nodiscard]] const std::vector<on_chip_memory>& all() const { return list_; }

 private:
  std::string unit_;
  std::vector<on_chip_memory> list_;
};

constexpr std::uint64_t bits_of(std::uint64_t bytes) {
  return bytes * 8;
}
// Returns the bits of a number below `count`; 0 = only one value.
constexpr std::uint64_t bits_for(std::uint64_t count) {
  return count < 2 ? 0 : static_cast<std::uint64_t>(std::bit_width(count - 1));
}
// Returns the replacement state of a set: an age for each way, a bit for each node of a tree, or nothing. A policy that is not
// named here counts as ages.
inline std::uint64_t replacement_bits(replacement_policy p, std::uint64_t ways) {
  const std::string_view name = replacement_policies.begin()[static_cast<std::size_t>(p)];
  if (name == "random") return 0;
  return name == "plru" ? std::bit_ceil(ways) - 1 : ways * bits_for(ways);
}

// Adds the tags of a set-associative memory: SRAM, or a CAM if there is one set only.
inline void add_tags(memory_list& m, std::string_view name, std::uint64_t sets, std::uint64_t ways, std::uint64_t bits,
                     std::string_view help) {
  m.add(name, sets == 1 ? memory_kind::cam : memory_kind::tag, sets * ways, bits, help);
}

}  // namespace hcasim
