// The cells of a cache, in which bits go wrong: what was asked for, and what the cache makes of it as it reads an entry.
//
// Cells keep with each 32-bit word the code that ICM has (icm_code.h). A word in which no bit has gone wrong fits its code, so
// it is computed only where a fault meets one, and a cache that nobody asks for faults pays a comparison with zero.
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

struct cell_protection {
  icm_check check = icm_check::none;
  icm_entry kind = icm_entry::none;  // whose rules an entry must keep to
  unsigned mtu_shift = 12;
};

class cells {
 public:
  explicit cells(const cell_protection& p) : protection_(p) {}

  [[nodiscard]] bool due() const { return faults_.due(); }
  void ask(std::size_t kind, const fault_request& r) { faults_.ask(kind, r); }
  void withdraw() { faults_.withdraw(); }
  // A fault that is due happens to the entry as it is read. False: its code does not fit, or there is no such entry: the bytes
  // are not to be used.
  bool read(std::span<std::byte> entry);

  void list(statistics& s);

 private:
  word_state spoil(std::span<std::byte> entry);

  cell_protection protection_;
  bit_faults faults_;
  counter corrected_, detected_, unbelievable_;
};

}  // namespace hcasim
