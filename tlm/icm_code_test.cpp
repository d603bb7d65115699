#include "tlm/icm_code.h"

#include <gtest/gtest.h>

#include <vector>

#include "tlm/base/random.h"

namespace hcasim {
namespace {

std::vector<std::uint32_t> words() {
  std::vector<std::uint32_t> all{0, ~0U, 1, 0x80000000, 0x55555555};
  random_stream random(7, "words");
  for (int i = 0; i < 200; ++i) all.push_back(static_cast<std::uint32_t>(random.below(1ULL << 32)));
  return all;
}

TEST(icm_code, memory_that_was_never_written_is_sound) {
  for (const icm_check check : {icm_check::parity, icm_check::secded}) EXPECT_EQ(code_of(check, 0), 0);
}

TEST(icm_code, secded_puts_any_one_bit_right) {
  for (const std::uint32_t word : words()) {
    const std::uint8_t code = code_of(icm_check::secded, word);
    std::uint32_t same = word;
    ASSERT_EQ(mend(icm_check::secded, same, code), word_state::good);
    for (unsigned bit = 0; bit < 39; ++bit) {
      std::uint32_t read = bit < 32 ? word ^ (1U << bit) : word;
      const auto with = static_cast<std::uint8_t>(bit < 32 ? code : code ^ (1U << (bit - 32)));
      ASSERT_EQ(mend(icm_check::secded, read, with), word_state::corrected);
      ASSERT_EQ(read, word);
    }
  }
}

TEST(icm_code, secded_notices_any_two_bits) {
  for (const std::uint32_t word : words()) {
    const std::uint8_t code = code_of(icm_check::secded, word);
    for (unsigned one = 0; one < 39; ++one) {
      for (unsigned two = one + 1; two < 39; ++two) {
        const std::uint64_t flips = 1ULL << one | 1ULL << two;
        std::uint32_t read = word ^ static_cast<std::uint32_t>(flips);
        ASSERT_EQ(mend(icm_check::secded, read, static_cast<std::uint8_t>(code ^ flips >> 32)), word_state::damaged);
      }
    }
  }
}

TEST(icm_code, parity_notices_any_one_bit_and_two_in_different_bytes) {
  for (const std::uint32_t word : words()) {
    const std::uint8_t code = code_of(icm_check::parity, word);
    for (unsigned one = 0; one < 32; ++one) {
      for (unsigned two = one; two < 32; ++two) {
        std::uint32_t read = word ^ (1U << one);
        if (two != one) read ^= 1U << two;
        const bool noticed = two == one || two / 8 != one / 8;
        ASSERT_EQ(mend(icm_check::parity, read, code), noticed ? word_state::damaged : word_state::good);
      }
    }
  }
}

}  // namespace
}  // namespace hcasim
