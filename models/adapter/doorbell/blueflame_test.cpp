// Doorbells that bring their WQE along.
#include "models/adapter/doorbell/doorbell_bench.h"

namespace hcasim {
namespace {

using bench = testing::doorbell_bench;

TEST(doorbell, blueflame_carries_the_wqe) {
  bench b;
  b.blueflame(5, 0xffff, 3, 100_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 1U);
  EXPECT_EQ(b.log[0].kind, bell::send);
  EXPECT_EQ(b.log[0].number, 5U);
  EXPECT_EQ(b.log[0].value, 2U);
  EXPECT_EQ(b.log[0].blueflame, 192U);
  EXPECT_EQ(b.log[0].at, 100_ns + 3 * 10_ns + 4_ns);
  EXPECT_EQ(b.last.blueflame[191], std::byte{0x5a});
  hca_wqe_control control;
  std::memcpy(&control, b.last.blueflame.data(), sizeof control);
  EXPECT_EQ(control.qpn, 5U);
}

TEST(doorbell, blueflame_lines_per_second) {
  doorbell_config c;
  c.blueflame_stall = true;
  c.fifo_depth = 1000;
  bench b(c);
  for (std::uint32_t i = 0; i < 200; ++i) b.blueflame(1 + i, 0, 2, ps(i * 1000));
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 200U);
  EXPECT_EQ(b.log.back().at, 200 * 20_ns + 4_ns);
  for (const auto& r : b.log) EXPECT_EQ(r.blueflame, 128U);
}

TEST(doorbell, blueflame_lines_come_in_one_a_cycle_behind_those_of_broken_writes) {
  bench b;
  for (int i = 0; i < 4; ++i) b.blueflame(0, 0, 16, 0_ns);
  b.blueflame(5, 0, 2, 0_ns);
  b.blueflame(6, 0, 2, 200_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("blueflame_bad"), 4);
  ASSERT_EQ(b.log.size(), 2U);
  EXPECT_EQ(b.log[0].at, 4 * 16_ns + 2_ns + 1_ns + 4_ns);
  EXPECT_EQ(b.log[0].blueflame, 128U);
  EXPECT_EQ(b.log[1].at, 200_ns + 2 * 10_ns + 4_ns);
}

TEST(doorbell, blueflame_without_room_is_a_plain_doorbell) {
  doorbell_config c;
  c.blueflame_buffer = 4;
  bench b(c);
  b.blueflame(1, 0, 2, 0_ns);
  b.blueflame(2, 0, 2, 0_ns);
  b.blueflame(3, 4, 2, 0_ns);
  b.blueflame(4, 0, 2, 30_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 4U);
  EXPECT_EQ(b.stat("blueflame_refused"), 1);
  for (const auto& r : b.log) EXPECT_EQ(r.blueflame, r.number == 3 ? 0U : 128U) << r.number;
  EXPECT_EQ(b.log[2].value, 6U);
}

TEST(doorbell, blueflame_larger_than_it_takes_is_a_plain_doorbell) {
  bench b;
  b.blueflame(1, 0, 5, 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 1U);
  EXPECT_EQ(b.log[0].blueflame, 0U);
  EXPECT_EQ(b.log[0].value, 5U);
  EXPECT_EQ(b.log[0].at, 4_ns);
}

TEST(doorbell, a_blueflame_write_without_a_whole_wqe_is_read_from_the_record) {
  bench b;
  b.add_qp(6);
  b.record(6) = {40, 50};
  b.blueflame(6, 36, 4, 0_ns, 128);
  b.blueflame(0, 36, 4, 10_ns);
  b.blueflame(6, 36, 0, 2_us, 64);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("blueflame_bad"), 3);
  ASSERT_EQ(b.log.size(), 4U);
  EXPECT_EQ(b.log[0].value, 40U);
  EXPECT_EQ(b.log[0].blueflame, 0U);
  EXPECT_EQ(b.log[1].kind, bell::receive);
  EXPECT_EQ(b.log[1].value, 50U);
}

TEST(doorbell, coalesced_blueflame_is_fetched_from_the_queue) {
  doorbell_config c;
  c.interval = 100;
  bench b(c);
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.blueflame(2, 0, 1, 10_ns);
  b.blueflame(2, 1, 1, 20_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 2U);
  EXPECT_EQ(b.log[1].value, 2U);
  EXPECT_EQ(b.log[1].blueflame, 0U);
}

}  // namespace
}  // namespace hcasim
