#include "models/adapter/doorbell/doorbell_rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hcasim::doorbell_rules {
namespace {

TEST(doorbell_rules, areas_of_the_bar) {
  EXPECT_EQ(area_of(0, 4), area::control);
  EXPECT_EQ(area_of(4092, 4), area::control);
  EXPECT_EQ(area_of(4092, 8), area::none);
  EXPECT_EQ(area_of(HCA_BAR_MSIX, 8), area::msix);
  EXPECT_EQ(area_of(HCA_BAR_MSIX + 64 * 16 - 4, 4), area::msix);
  EXPECT_EQ(area_of(HCA_BAR_MSIX + 64 * 16, 4), area::none);
  EXPECT_EQ(area_of(HCA_BAR_UAR, 8), area::uar);
  EXPECT_EQ(area_of(HCA_BAR_SIZE - 8, 8), area::uar);
  EXPECT_EQ(area_of(HCA_BAR_SIZE - 8, 16), area::none);
  EXPECT_EQ(area_of(HCA_BAR_SIZE, 8), area::none);
  EXPECT_EQ(area_of(~0ULL, 8), area::none);
}

TEST(doorbell_rules, doorbells_are_one_8_byte_write) {
  EXPECT_EQ(decode(HCA_UAR_SQ, 8).kind, bell::send);
  EXPECT_EQ(decode(HCA_UAR_RQ, 8).kind, bell::receive);
  EXPECT_EQ(decode(HCA_UAR_CQ, 8).kind, bell::completion);
  EXPECT_EQ(decode(HCA_UAR_EQ, 8).kind, bell::event);
  for (std::uint32_t offset = 0; offset < HCA_UAR_BF; ++offset) {
    const bool known = offset <= HCA_UAR_EQ && offset % 8 == 0;
    EXPECT_EQ(decode(offset, 8).what, known ? target::bell : target::none) << offset;
    EXPECT_EQ(decode(offset, 4).what, target::none) << offset;
  }
}

TEST(doorbell_rules, blueflame_begins_at_a_buffer) {
  EXPECT_EQ(decode(HCA_UAR_BF, 64).what, target::blueflame);
  EXPECT_EQ(decode(HCA_UAR_BF + 1024, 1024).what, target::blueflame);
  EXPECT_EQ(decode(HCA_UAR_BF + 64, 64).what, target::none);
  EXPECT_EQ(decode(HCA_UAR_BF, 32).what, target::none);
  EXPECT_EQ(decode(HCA_UAR_BF, 1025).what, target::none);
}

TEST(doorbell_rules, blueflame_wqe) {
  std::vector<std::byte> bytes(1024);
  hca_wqe_control c{};
  c.blocks = 3;
  c.index = 0xfffe;
  c.qpn = 77;
  const auto put = [&] { std::memcpy(bytes.data(), &c, sizeof c); };
  put();
  blueflame b = decode_blueflame(bytes.data(), 192);
  EXPECT_TRUE(b.whole);
  EXPECT_EQ(b.qpn, 77U);
  EXPECT_EQ(b.value, 1U);  // modulo 2^16
  EXPECT_EQ(b.bytes, 192U);
  EXPECT_FALSE(decode_blueflame(bytes.data(), 128).whole);
  EXPECT_TRUE(decode_blueflame(bytes.data(), 128).plausible);
  EXPECT_TRUE(decode_blueflame(bytes.data(), 256).whole);
  for (const unsigned bad : {0U, 17U, 255U}) {
    c.blocks = static_cast<std::uint8_t>(bad);
    put();
    EXPECT_FALSE(decode_blueflame(bytes.data(), 1024).whole) << bad;
  }
  c.blocks = 1;
  for (const std::uint32_t bad : {0U, 0x01000000U}) {
    c.qpn = bad;
    put();
    EXPECT_FALSE(decode_blueflame(bytes.data(), 64).plausible) << bad;
    EXPECT_FALSE(decode_blueflame(bytes.data(), 64).whole) << bad;
  }
}

TEST(doorbell_rules, indices_run_modulo_2_to_the_16) {
  EXPECT_EQ(ahead(1, 0xffff), 2);
  EXPECT_EQ(ahead(0xffff, 1), -2);
  EXPECT_EQ(ahead(0x10005, 5), 0);
}

}  // namespace
}  // namespace hcasim::doorbell_rules
