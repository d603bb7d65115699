// Wrong bits on request: the next entries that are read have one wrong bit, or two in one word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tlm/base/faults.h"

namespace hcasim {

class bit_faults {
 public:
  // In the order of a unit's fault kinds.
  enum kind : std::uint8_t { one_bit, two_bits };

  void ask(std::size_t k, const fault_request& r) {
    asked_.at(k) += r.count;
    draw_ = r.draw;
  }
  void withdraw() { asked_ = {}; }
  [[nodiscard]] std::uint64_t to_come(std::size_t k) const { return asked_.at(k); }
  [[nodiscard]] bool due() const { return (asked_[one_bit] | asked_[two_bits]) != 0; }

  struct spot {
    std::size_t word;    // index of a 32-bit word
    std::uint32_t bits;  // the wrong bits of the word
  };
  // Returns the place of the fault in the next entry, of `words` words; only while a fault is due.
  spot next(std::size_t words) {
    const kind k = asked_[one_bit] != 0 ? one_bit : two_bits;
    --asked_[k];
    const std::uint64_t bit = draw_ % (words * word_bits);
    draw_ = draw_ * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint32_t bits = 1U << bit % word_bits;
    if (k == two_bits) bits |= 1U << (bit + 7) % word_bits;
    return {static_cast<std::size_t>(bit / word_bits), bits};
  }

 private:
  static constexpr std::uint64_t word_bits = 32;

  std::array<std::uint64_t, 2> asked_{};  // entries
  std::uint64_t draw_ = 0;
};

}  // namespace hcasim
