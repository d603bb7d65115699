// Armed CQs, moderation, event queues, interrupts.
#include "models/adapter/completion/completion_bench.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = completion_bench;

TEST(completion, armed_cq_writes_cqe_then_eqe_then_interrupt) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::event, 1, 1, 0, 1_ns);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  b.complete(5, 1, 20_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.writes.size(), 4U);
  EXPECT_EQ(b.writes[0].address, ring_at);
  EXPECT_EQ(b.writes[0].at, 16_ns);
  EXPECT_EQ(b.writes[1].address, eq_at + 0x1000);
  EXPECT_EQ(b.writes[1].at, 22_ns);
  EXPECT_EQ(b.writes[2].source, dma_source::interrupt);
  EXPECT_EQ(b.writes[2].address, msi_at + 16);
  EXPECT_EQ(b.writes[2].at, 26_ns);
  EXPECT_EQ(b.memory[msi_at + 16], std::byte{0x41});
  EXPECT_EQ(b.eqe(1, 0).type, static_cast<std::uint32_t>(HCA_EVENT_COMPLETION));
  EXPECT_EQ(b.eqe(1, 0).number, 5U);
  EXPECT_EQ(b.events(1), 1U);  // one arming, one event
}

TEST(completion, no_event_for_a_cq_that_is_not_armed) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NONE, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 0U);
}

TEST(completion, solicited_arming_waits_for_a_solicited_cqe) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_SOLICITED, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.events(1), 0U);
  b.complete(5, 1, 60_ns, HCA_CQE_SOLICITED);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

TEST(completion, a_solicited_arming_does_not_weaken_an_earlier_one) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.ring(bell::completion, 5, HCA_ARM_SOLICITED, 0, 3_ns);
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

// Software found the CQ empty at index 0; the CQE came before its arming did.
TEST(completion, arming_behind_a_cqe_fires_at_once) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.complete(5, 0, 10_ns);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
  EXPECT_EQ(b.writes.back().at, 26_ns);
  EXPECT_EQ(b.stat("late_arms"), 1);
  EXPECT_EQ(b.cq(5).arm, HCA_ARM_NONE);
}

TEST(completion, arming_after_consuming_waits) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.complete(5, 0, 10_ns, HCA_CQE_SOLICITED);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 1, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 0U);
  EXPECT_EQ(b.cq(5).arm, HCA_ARM_NEXT);
  EXPECT_EQ(b.cq(5).ci, 1U);
}

TEST(completion, moderation_counts) {
  bench b;
  b.add_cq(5, 6).moderation_count = 4;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  for (std::uint16_t i = 0; i < 3; ++i) b.complete(5, i, ps(10'000 + i * 1000));
  testing::run_for(1_us);
  EXPECT_EQ(b.events(1), 0U);
  b.complete(5, 3, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

TEST(completion, moderation_timer_runs_from_the_first_cqe) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 6);
  cq.moderation_count = 100;
  cq.moderation_us = 10;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 1_us);
  b.complete(5, 1, 8_us);
  testing::run_for(11_us + 11_ns);
  EXPECT_EQ(b.events(1), 0U);
  testing::run_for(2_ns);
  EXPECT_EQ(b.events(1), 1U);
  EXPECT_EQ(b.writes.back().at, 11_us + 12_ns);
  EXPECT_EQ(b.stat("timer_events"), 1);
}

TEST(completion, a_timer_of_an_earlier_arming_is_void) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 6);
  cq.moderation_count = 2;
  cq.moderation_us = 10;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 1_us);
  b.complete(5, 1, 2_us);  // fires
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 2, 3_us);
  b.complete(5, 2, 9_us);
  testing::run_for(15_us);
  EXPECT_EQ(b.events(1), 1U);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 2U);
  EXPECT_EQ(b.stat("timer_events"), 1);
}

TEST(completion, events_wait_while_their_queue_is_full) {
  bench b;
  b.open_eq(0, 1);
  b.ring(bell::event, 0, 1, 0, 1_ns);
  for (std::uint32_t i = 0; i < 5; ++i) b.event(HCA_EVENT_QP_FATAL, i, 10_ns);
  testing::run_for(100_ns);
  EXPECT_EQ(b.events(0), 2U);
  EXPECT_EQ(b.stat("eqes_deferred"), 3);
  EXPECT_EQ(b.interrupts(), 1U);
  EXPECT_EQ(b.eqe(0, 1).owner, 1);
  b.ring(bell::event, 0, 1, 1, 200_ns);  // one consumed: one more fits, and the queue is not empty
  testing::run_for(150_ns);
  EXPECT_EQ(b.events(0), 3U);
  EXPECT_EQ(b.eqe(0, 0).number, 2U);
  EXPECT_EQ(b.eqe(0, 0).owner, 0);
  EXPECT_EQ(b.interrupts(), 2U);
  b.ring(bell::event, 0, 0, 3, 400_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(0), 5U);
  EXPECT_EQ(b.eqe(0, 0).number, 4U);
  EXPECT_EQ(b.interrupts(), 2U);  // not armed
  EXPECT_EQ(b.stat("events_lost"), 0);
}

TEST(completion, arming_an_event_queue_with_unseen_events_interrupts_at_once) {
  bench b;
  b.open_eq(0, 4);
  b.event(HCA_EVENT_QP_FATAL, 1, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.interrupts(), 0U);
  b.ring(bell::event, 0, 1, 0, 60_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.interrupts(), 1U);
}

TEST(completion, masked_interrupts_come_when_they_are_unmasked) {
  bench b;
  b.open_eq(0, 4);
  b.access(0, 12, 4, 1, 1_ns);
  b.ring(bell::event, 0, 1, 0, 2_ns);
  b.event(HCA_EVENT_QP_FATAL, 1, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.events(0), 1U);
  EXPECT_EQ(b.interrupts(), 0U);
  b.access(0, 12, 4, 0, 100_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.interrupts(), 1U);
  EXPECT_EQ(b.writes.back().at, 100_ns);
}

TEST(completion, msix_table_reads_back) {
  bench b;
  b.open_eq(3, 4);
  register_access read;
  read.offset = HCA_BAR_MSIX + 3 * 16;
  read.bytes = 8;
  b.msix.send(read, 10_ns);
  register_access mask;
  mask.offset = HCA_BAR_MSIX + 4 * 16 + 12;
  mask.bytes = 4;
  b.msix.send(mask, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(read.value, msi_at + 48);
  EXPECT_EQ(mask.value, 1U);  // masked until software opens it
}

TEST(completion, closed_queues_and_nonsense_doorbells_are_counted) {
  bench b;
  b.event(HCA_EVENT_QP_FATAL, 1, 1_ns);
  b.ring(bell::event, 3, 1, 0, 2_ns);
  b.ring(bell::event, 0xffffff, 1, 0, 2_ns);
  b.ring(bell::completion, 0xffffff, 1, 0, 3_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("events_lost"), 1);
  EXPECT_EQ(b.stat("bad_doorbells"), 3);
}

TEST(completion, a_reopened_event_queue_starts_afresh) {
  bench b;
  b.open_eq(0, 1);
  for (std::uint32_t i = 0; i < 3; ++i) b.event(HCA_EVENT_QP_FATAL, i, 10_ns);
  b.open_eq(0, 2, 50_ns);
  b.event(HCA_EVENT_QP_FATAL, 9, 60_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.eqe(0, 0).number, 9U);
  EXPECT_EQ(b.eqe(0, 0).owner, 1);
}

}  // namespace
}  // namespace hcasim
