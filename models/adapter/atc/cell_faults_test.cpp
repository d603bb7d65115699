// Wrong bits in the translation cache: each kind of fault with each code.
#include <gtest/gtest.h>

#include "models/adapter/atc/atc_bench.h"

namespace hcasim {
namespace {

using testing::atc_bench;
using testing::atc_link;
using testing::run_until_idle;
using kind = atc_link::event::kind;

constexpr std::size_t cell_bit = 0;
constexpr std::size_t tag_bit = 2;
constexpr std::size_t tag_two_bits = 3;

// One burst brings the translation, then come the fault and one more burst to the page.
struct damaged : atc_bench {
  damaged(icm_check check, std::size_t fault, std::uint64_t draw) : atc_bench({}, check) {
    link.map(page, 0x77000);
    engine.send(true, page + 0x10, 1_us);
    run_until_idle();
    dut.inject(fault, {.count = 1, .length = 0_ps, .draw = draw});
    engine.send(true, page + 0x20, now() + 1_us);
    run_until_idle();
  }
  [[nodiscard]] std::size_t questions() const { return link.of(kind::question).size(); }
  [[nodiscard]] std::uint64_t went_to() const { return link.log.back().address; }

  static constexpr std::uint64_t page = 0x5000;
};

TEST(atc_cells, one_bit_of_a_tag_is_put_right) {
  const damaged b(icm_check::secded, tag_bit, 3);
  EXPECT_EQ(b.value("cell_corrected"), 1);
  EXPECT_EQ(b.questions(), 1U);
  EXPECT_EQ(b.went_to(), 0x77020U);
}

TEST(atc_cells, an_unreadable_tag_is_requested_again) {
  const damaged b(icm_check::secded, tag_two_bits, 3);
  EXPECT_EQ(b.value("cell_detected"), 1);
  EXPECT_EQ(b.questions(), 2U);
  EXPECT_EQ(b.went_to(), 0x77020U);
}

TEST(atc_cells, parity_sees_one_bit_of_a_tag) {
  const damaged b(icm_check::parity, tag_bit, 3);
  EXPECT_EQ(b.value("cell_detected"), 1);
  EXPECT_EQ(b.questions(), 2U);
  EXPECT_EQ(b.went_to(), 0x77020U);
}

// The fault is not noticed: the page is asked for, and its translation stands under another page.
TEST(atc_cells, without_a_code_a_damaged_tag_names_another_page) {
  damaged b(icm_check::none, tag_bit, 3);
  EXPECT_EQ(b.value("cell_detected") + b.value("cell_corrected"), 0);
  EXPECT_EQ(b.questions(), 2U);
  EXPECT_EQ(b.went_to(), 0x77020U);
  std::size_t believed = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t other = b.page ^ std::uint64_t{1} << (12 + bit);
    const std::size_t asked = b.questions();
    b.link.map(other, 0x99000);
    b.engine.send(true, other, now() + 1_us);
    run_until_idle();
    if (b.questions() != asked) continue;
    ++believed;
    EXPECT_EQ(b.went_to(), 0x77000U);
  }
  EXPECT_EQ(believed, 1U);
}

TEST(atc_cells, one_wrong_bit_of_a_translation_is_corrected) {
  const damaged b(icm_check::secded, cell_bit, 5);
  EXPECT_EQ(b.value("cell_corrected"), 1);
  EXPECT_EQ(b.went_to(), 0x77020U);
}

}  // namespace
}  // namespace hcasim
