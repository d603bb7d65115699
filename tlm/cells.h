// The cells of a cache, in which bits go wrong: the requested faults, and the cache's reading of an entry or its tag.
//
// Cells keep the code of ICM (icm_code.h) with each 32-bit word. An intact word always fits its code, so the code is computed
// only where a fault is due. A cache without requested faults pays a comparison with zero.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tlm/base/faults.h"
#include "tlm/base/statistics.h"
#include "tlm/bit_faults.h"
#include "tlm/icm_code.h"
#include "tlm/icm_sound.h"

namespace hcasim {

inline constexpr std::array<fault_kind, 2> cell_fault_kinds{{
    {"cell_bit", "one bit of the next `count` entries that are found in the cache is wrong"},
    {"cell_two_bits", "two bits of one word of the next `count` entries that are found in the cache are"},
}};

// The faults of a cache with cells for its tags, too.
inline constexpr std::array<fault_kind, 4> cache_fault_kinds{{
    cell_fault_kinds[0],
    cell_fault_kinds[1],
    {"tag_bit", "one bit of the tag of the next `count` entries that are found in the cache is wrong"},
    {"tag_two_bits", "two bits of the tag of the next `count` entries that are found in the cache are"},
}};

struct cell_protection {
  icm_check check = icm_check::none;
  icm_entry kind = icm_entry::none;  // kind of the entries, whose rules are checked
  unsigned mtu_shift = 12;
};

class cells {
 public:
  explicit cells(const cell_protection& p) : protection_(p) {}

  [[nodiscard]] bool due() const { return entries_.due() || tags_.due(); }
  // Requests faults of kind number `kind` of cache_fault_kinds.
  void ask(std::size_t kind, const fault_request& r) {
    const std::size_t kinds = cell_fault_kinds.size();
    kind < kinds ? entries_.ask(kind, r) : tags_.ask(kind - kinds, r);
  }
  [[nodiscard]] std::uint64_t to_come(std::size_t kind) const {
    const std::size_t kinds = cell_fault_kinds.size();
    return kind < kinds ? entries_.to_come(kind) : tags_.to_come(kind - kinds);
  }
  void withdraw() {
    entries_.withdraw();
    tags_.withdraw();
  }
  // Injects a due fault into the entry as it is read. False = its code does not fit, or there is no such entry; the bytes must
  // not be used.
  bool read(std::span<std::byte> entry);
  // Does the same to the entry's tag, which may become the tag of another entry. False = its code does not fit.
  bool read_tag(std::uint32_t& tag);

  void list(statistics& s);

 private:
  [[nodiscard]] word_state spoil(std::uint32_t& word, std::uint32_t bits) const;
  bool count(word_state found);

  cell_protection protection_;
  bit_faults entries_, tags_;
  counter corrected_, detected_, unbelievable_;
};

}  // namespace hcasim
