// The translation cache alone: exact times, rights, order.
#include <gtest/gtest.h>

#include "models/adapter/atc/atc_bench.h"

namespace hcasim {
namespace {

using testing::atc_bench;
using testing::atc_link;
using testing::run_for;
using testing::run_until_idle;
using testing::without_pages;
using kind = atc_link::event::kind;

// ---- time, with 1 ns a cycle: a hit takes 2 cycles, a miss the round trip of its translation request

TEST(atc, exact_times_of_a_hit_and_of_a_miss) {
  atc_bench b;
  b.link.map(0x5000, 0x77000);
  const ps begin = 1_us;
  auto& cold = b.engine.send(true, 0x5010, begin);
  auto& warm = b.engine.send(false, 0x5020, begin + 1_us);
  auto& next = b.engine.send(false, 0x5040, begin + 1_us);
  run_until_idle();
  ASSERT_EQ(b.link.log.size(), 4U);
  const auto& question = b.link.log[0];
  EXPECT_EQ(question.what, kind::question);
  EXPECT_EQ(question.address, 0x5000U);
  EXPECT_EQ(question.sent, begin + 2_ns);
  EXPECT_EQ(question.requester, 7U);
  EXPECT_EQ(question.code, 0U) << "it means to write";
  EXPECT_EQ(b.link.log[1].sent, begin + 2_ns + 400_ns);
  EXPECT_EQ(b.link.log[1].address, 0x77010U);
  EXPECT_EQ(b.link.log[1].type, pcie_address_type::translated);
  EXPECT_EQ(cold.answered, begin + 2_ns + 400_ns + 200_ns);
  EXPECT_EQ(cold.get_address(), 0x5010U) << "the engine has its own address back";
  EXPECT_EQ(cold.extension.address_type, pcie_address_type::untranslated);
  EXPECT_EQ(b.link.log[2].sent, begin + 1_us + 2_ns);
  EXPECT_EQ(b.link.log[3].sent, begin + 1_us + 3_ns) << "one look-up a cycle";
  EXPECT_EQ(warm.answered, begin + 1_us + 2_ns + 500_ns);
  EXPECT_EQ(next.answered, begin + 1_us + 3_ns + 500_ns);
  EXPECT_EQ(b.value("misses"), 1);
  EXPECT_EQ(b.value("hits"), 2);
  EXPECT_TRUE(b.dut.idle());
}

// A lookup takes its latency, and the next one begins meanwhile.
TEST(atc, look_ups_are_pipelined) {
  atc_config c;
  c.hit_latency = 32;
  atc_bench b(c);
  b.link.map(0x5000, 0x77000);
  b.link.map(0x6000, 0x78000);
  b.engine.send(false, 0x5000, 1_us);
  auto& first = b.engine.send(true, 0x5040, 2_us);
  auto& second = b.engine.send(false, 0x6000, 2_us + 1_ns);
  auto& third = b.engine.send(true, 0x5080, 2_us + 2_ns);
  run_until_idle();
  EXPECT_EQ(first.free_again, 2_us + 1_ns);
  EXPECT_EQ(second.free_again, 2_us + 2_ns) << "a miss";
  EXPECT_EQ(third.free_again, 2_us + 3_ns);
  const auto writes = b.link.of(kind::write);
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].sent, 2_us + 32_ns);
  EXPECT_EQ(writes[1].sent, 2_us + 34_ns);
}

// The answer that a write waits for comes during the lookup of an earlier write.
TEST(atc, a_write_does_not_pass_one_that_hits) {
  atc_config c;
  c.hit_latency = 8;
  atc_bench b(c);
  b.link.map(0x5000, 0x77000);
  b.link.map(0x6000, 0x78000);
  b.engine.send(true, 0x5000, 1_us);
  const ps begin = 2_us;
  b.engine.send(true, 0x6000, begin, 64, true);
  const ps answer = begin + 8_ns + 400_ns;
  b.engine.send(true, 0x5040, answer - 3_ns);
  b.engine.send(true, 0x6040, answer - 1_ns);
  run_until_idle();
  const auto writes = b.link.of(kind::write);
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes[1].address, 0x77040U);
  EXPECT_EQ(writes[1].sent, answer + 5_ns);
  EXPECT_EQ(writes[3].address, 0x78040U);
  EXPECT_EQ(writes[3].sent, answer + 7_ns);
}

TEST(atc, a_large_page_is_asked_for_once) {
  atc_bench b;
  for (std::uint64_t p = 0; p < 512; ++p) b.link.table[0x40000000 + p * 4096] = ats_entry(0x80000000, 21, 3);
  for (std::uint64_t p = 0; p < 512; p += 37) b.engine.send(false, 0x40000000 + p * 4096 + 8, 1_us + ps(2'000'000) * p);
  run_until_idle();
  EXPECT_EQ(b.value("misses"), 1);
  EXPECT_EQ(b.link.of(kind::read).back().address, 0x80000000U + 37 * 13 * 4096 + 8);
}

TEST(atc, translation_requests_are_shared_and_limited) {
  atc_config c;
  c.requests = 2;
  atc_bench b(c);
  for (std::uint64_t p = 1; p <= 4; ++p) b.link.map(p << 12, 0x70000 + (p << 12));
  for (std::uint64_t p = 1; p <= 4; ++p) {
    b.engine.send(false, p << 12, 1_us);
    b.engine.send(false, (p << 12) + 64, 1_us);
  }
  run_until_idle();
  EXPECT_EQ(b.value("misses"), 4);
  EXPECT_EQ(b.value("merged"), 4);
  EXPECT_EQ(b.value("slot_waits"), 2);
  const auto questions = b.link.of(kind::question);
  ASSERT_EQ(questions.size(), 4U);
  EXPECT_EQ(questions[2].sent, questions[0].sent + 400_ns);
  EXPECT_EQ(questions[3].sent, questions[1].sent + 400_ns);
}

// ---- rights

TEST(atc, rights_are_those_of_the_answer) {
  atc_bench b(without_pages());
  b.link.map(0x5000, 0x77000, ats_read);
  b.link.map(0x6000, 0x78000, ats_write);
  auto& read = b.engine.send(false, 0x5000, 1_us);
  auto& write = b.engine.send(true, 0x5000, 3_us);
  auto& again = b.engine.send(false, 0x5000, 5_us);
  auto& absent = b.engine.send(false, 0x9000, 6_us);
  auto& written = b.engine.send(true, 0x6000, 8_us);
  auto& unread = b.engine.send(false, 0x6000, 10_us);
  run_until_idle();
  EXPECT_TRUE(read.ok());
  EXPECT_FALSE(write.ok());
  EXPECT_EQ(write.answered, 3_us + 2_ns + 400_ns);
  EXPECT_TRUE(again.ok());
  EXPECT_FALSE(absent.ok());
  EXPECT_TRUE(written.ok());
  EXPECT_FALSE(unread.ok());
  EXPECT_EQ(b.link.of(kind::write).size(), 1U) << "what was refused was never sent";
  EXPECT_EQ(b.link.of(kind::read).size(), 2U);
  const auto questions = b.link.of(kind::question);
  ASSERT_EQ(questions.size(), 5U);
  EXPECT_EQ(questions[0].code, ats_no_write);
  EXPECT_EQ(questions[1].code, 0) << "it is asked again: the right may have been given meanwhile";
  EXPECT_EQ(b.value("refused"), 3);
}

TEST(atc, an_answer_without_a_translation_fails_its_bursts) {
  atc_bench b;
  b.link.refuses_questions = true;
  auto& one = b.engine.send(true, 0x5000, 1_us);
  auto& two = b.engine.send(false, 0x5000, 1_us);
  run_until_idle();
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(two.ok());
  EXPECT_EQ(b.link.of(kind::message).size(), 0U) << "no page is asked for";
  EXPECT_TRUE(b.dut.idle());
}

// ---- order

TEST(atc, writes_and_interrupts_stay_in_order_and_reads_behind_them) {
  atc_bench b;
  for (std::uint64_t p = 5; p < 9; ++p) b.link.map(p << 12, 0x70000 + (p << 12));
  b.engine.send(true, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(true, 0x5000, begin);                 // a miss
  b.engine.send(true, 0x6000, begin + 5_ns);          // a hit
  b.engine.send(true, msi_window, begin + 10_ns, 4);  // tells of them
  b.engine.send(false, 0x6000, begin + 15_ns);        // a hit, behind the writes
  run_until_idle();
  std::vector<std::uint64_t> order;
  for (const auto& e : b.link.log) {
    if (e.sent >= begin && e.what != kind::question) order.push_back(e.address);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0x75000, 0x76000, msi_window, 0x76000}));
  EXPECT_EQ(b.value("order_waits"), 3);
  EXPECT_EQ(b.link.of(kind::write).back().type, pcie_address_type::untranslated);
}

TEST(atc, a_read_that_waits_stalls_no_other) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.link.map(0x6000, 0x76000);
  b.engine.send(false, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(false, 0x5000, begin);
  b.engine.send(true, 0x6000, begin + 5_ns);
  b.engine.send(false, 0x6000, begin + 10_ns);
  run_until_idle();
  EXPECT_EQ(b.link.log.back().address, 0x75000U);
  EXPECT_EQ(b.link.log.back().sent, begin + 2_ns + 400_ns);
  EXPECT_EQ(b.link.of(kind::write).back().sent, begin + 7_ns);
}

TEST(atc, bursts_to_other_devices_are_not_translated) {
  atc_bench b;
  auto& peer = b.engine.send(true, 0xffff'c000'0000'0000, 1_us);
  run_until_idle();
  EXPECT_TRUE(peer.ok());
  EXPECT_EQ(b.link.log.at(0).type, pcie_address_type::untranslated);
  EXPECT_EQ(b.link.log.at(0).sent, 1_us + 2_ns);
  EXPECT_EQ(b.value("plain"), 1);
}

TEST(atc, register_accesses_pass) {
  atc_bench b;
  b.link.write_register(0x1238);
  run_until_idle();
  EXPECT_EQ(b.link.registers, (std::vector<std::uint64_t>{0x1238}));
}

}  // namespace
}  // namespace hcasim
