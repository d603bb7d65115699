// Every bit of an entry, and two of a word, with each code.
#include "tlm/cells.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "firmware/abi/mrc.h"

namespace hcasim {
namespace {

using entry = std::array<std::uint32_t, 16>;

// The effect of one fault with this draw on the entry, and whether it may be used.
struct fate {
  bool used;
  unsigned wrong_bits;
};

fate spoil(icm_check check, std::size_t kind, std::uint64_t draw) {
  entry e{};
  for (std::size_t i = 0; i < e.size(); ++i) e[i] = static_cast<std::uint32_t>(i * 0x9e3779b9U);
  const entry before = e;
  cells c({.check = check});
  EXPECT_FALSE(c.due());
  c.ask(kind, {.count = 1, .length = ps(0), .draw = draw});
  EXPECT_TRUE(c.due());
  const bool used = c.read(std::as_writable_bytes(std::span(e)));
  EXPECT_FALSE(c.due()) << "once";
  unsigned wrong = 0;
  for (std::size_t i = 0; i < e.size(); ++i) wrong += static_cast<unsigned>(std::popcount(e[i] ^ before[i]));
  return {used, wrong};
}

TEST(cells, one_wrong_bit) {
  for (std::uint64_t bit = 0; bit < 8 * sizeof(entry); ++bit) {
    const fate none = spoil(icm_check::none, 0, bit);
    EXPECT_TRUE(none.used);
    EXPECT_EQ(none.wrong_bits, 1U);
    EXPECT_FALSE(spoil(icm_check::parity, 0, bit).used);
    const fate mended = spoil(icm_check::secded, 0, bit);
    EXPECT_TRUE(mended.used);
    EXPECT_EQ(mended.wrong_bits, 0U);
  }
}

TEST(cells, two_wrong_bits_of_a_word) {
  unsigned believed = 0;
  for (std::uint64_t bit = 0; bit < 8 * sizeof(entry); ++bit) {
    EXPECT_EQ(spoil(icm_check::none, 1, bit).wrong_bits, 2U);
    EXPECT_FALSE(spoil(icm_check::secded, 1, bit).used);
    const fate parity = spoil(icm_check::parity, 1, bit);
    believed += parity.used;
    EXPECT_EQ(parity.wrong_bits, 2U);
  }
  EXPECT_EQ(believed, sizeof(entry)) << "two bits of one byte pass";
}

TEST(cells, an_entry_that_cannot_be_is_refused_without_a_code) {
  std::array<std::uint64_t, 1> page{0x1000 | HCA_PTE_PRESENT};
  cells c({.check = icm_check::none, .kind = icm_entry::pte});
  c.ask(0, {.count = 1, .length = ps(0), .draw = 5});  // an unknown flag
  EXPECT_FALSE(c.read(std::as_writable_bytes(std::span(page))));
}

}  // namespace
}  // namespace hcasim
