#include "tlm/icm_code.h"

#include <array>
#include <bit>

namespace hcasim {
namespace {

constexpr unsigned word_bits = 32;
constexpr unsigned code_bits = 7;

// The change of the code by each bit of the word.
constexpr std::array<std::uint8_t, word_bits> make_columns() {
  std::array<std::uint8_t, word_bits> columns{};
  unsigned n = 0;
  for (unsigned c = 0; c < 1U << code_bits && n < word_bits; ++c) {
    if (std::popcount(c) == 3) columns[n++] = static_cast<std::uint8_t>(c);
  }
  return columns;
}
constexpr auto columns = make_columns();

// The code of each byte of the word and each value of the byte.
constexpr std::array<std::array<std::uint8_t, 256>, 4> make_secded() {
  std::array<std::array<std::uint8_t, 256>, 4> table{};
  for (unsigned byte = 0; byte < 4; ++byte) {
    for (unsigned value = 0; value < 256; ++value) {
      std::uint8_t code = 0;
      for (unsigned bit = 0; bit < 8; ++bit) {
        if (value >> bit & 1) code = static_cast<std::uint8_t>(code ^ columns[8 * byte + bit]);
      }
      table[byte][value] = code;
    }
  }
  return table;
}
constexpr auto secded = make_secded();

std::uint8_t parity_of(std::uint32_t word) {
  unsigned code = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    code |= (static_cast<unsigned>(std::popcount(word >> 8 * byte & 0xff)) & 1U) << byte;
  return static_cast<std::uint8_t>(code);
}

std::uint8_t secded_of(std::uint32_t word) {
  return static_cast<std::uint8_t>(secded[0][word & 0xff] ^ secded[1][word >> 8 & 0xff] ^ secded[2][word >> 16 & 0xff] ^
                                   secded[3][word >> 24]);
}

}  // namespace

std::uint8_t code_of(icm_check check, std::uint32_t word) {
  switch (check) {
    case icm_check::parity:
      return parity_of(word);
    case icm_check::secded:
      return secded_of(word);
    default:
      return 0;
  }
}

word_state mend(icm_check check, std::uint32_t& word, std::uint8_t code) {
  const auto difference = static_cast<std::uint8_t>(code_of(check, word) ^ code);
  if (difference == 0) return word_state::good;
  if (check != icm_check::secded) return word_state::damaged;
  if (std::popcount(difference) == 1) return word_state::corrected;  // a bit of the code
  for (unsigned bit = 0; bit < word_bits; ++bit) {
    if (columns[bit] != difference) continue;
    word ^= 1U << bit;
    return word_state::corrected;
  }
  return word_state::damaged;
}

}  // namespace hcasim
