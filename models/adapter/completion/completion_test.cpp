// CQEs: their time, their place, their order.
#include "models/adapter/completion/completion_bench.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = completion_bench;

TEST(completion, a_hit_is_answered_after_its_latency) {
  bench b;
  b.add_cq(5, 4);
  b.complete(5, 77, 100_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.writes.size(), 1U);
  EXPECT_EQ(b.writes[0].at, 106_ns);
  EXPECT_EQ(b.writes[0].address, ring_at);
  EXPECT_EQ(b.reporters[0].answers[0].at, 106_ns);
  EXPECT_EQ(b.cqe(0).index, 77);
  EXPECT_EQ(b.cq(5).pi, 1U);
  EXPECT_EQ(b.cache.pins(), 0);
}

TEST(completion, one_completion_per_interval) {
  bench b;
  b.add_cq(5, 8);
  for (std::uint16_t i = 0; i < 100; ++i) b.complete(5, i, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.writes.back().at, 106_ns - 1_ns);
}

TEST(completion, buffers_in_pages_go_through_the_walker) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 4);
  cq.buffer.page_shift = 12;
  cq.buffer.levels = 2;
  cq.buffer.pages = 0x3000;
  cq.pi = 3;
  cq.ci = 3;
  b.complete(5, 1, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.writes.at(0).address, 0x3100U + 3 * 64);
  EXPECT_EQ(b.walked.index, HCA_TAG_CQ | 5U);
  EXPECT_EQ(b.walked.page_shift, 12);
  EXPECT_EQ(b.walked.levels, 2);
}

TEST(completion, owner_bits_over_wraps) {
  bench b;
  b.add_cq(5, 2);
  const auto put_index = [&](std::uint32_t ci) { std::memcpy(&b.memory[record_at], &ci, 4); };
  std::uint32_t next = 0;
  for (unsigned pass = 0; pass < 5; ++pass) {
    for (unsigned slot = 0; slot < 4; ++slot) {
      put_index(next);
      b.complete(5, static_cast<std::uint16_t>(next++), now() + 1_ns);
      testing::run_for(100_ns);
      EXPECT_EQ(b.cqe(slot).owner, pass % 2 == 0 ? 1 : 0);
      EXPECT_EQ(b.cqe(slot).index, next - 1);
    }
  }
  EXPECT_EQ(b.stat("cqes_lost"), 0);
  // The record is read only when the context's consumer index says full.
  EXPECT_EQ(b.record_reads, 4U);
}

TEST(completion, overflow_loses_the_cqe_and_says_so_once) {
  bench b;
  b.add_cq(5, 2);
  b.open_eq(0, 4);
  for (std::uint16_t i = 0; i < 6; ++i) b.complete(5, i, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.cq(5).state, HCA_CQ_OVERFLOWN);
  EXPECT_EQ(b.cq(5).pi, 4U);
  EXPECT_EQ(b.cqe(0).index, 0);
  EXPECT_EQ(b.stat("cqes_lost"), 2);
  EXPECT_EQ(b.stat("overflows"), 1);
  EXPECT_EQ(b.record_reads, 1U);
  EXPECT_EQ(b.events(0), 1U);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CQ_OVERFLOW));
  EXPECT_EQ(b.eqe(0, 0).number, 5U);
  EXPECT_EQ(b.eqe(0, 0).owner, 1);
  EXPECT_EQ(b.reporters[0].answers.size(), 6U);
}

TEST(completion, unknown_and_untranslated_cqs_raise_an_event) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 2);
  cq.buffer.page_shift = 12;
  cq.buffer.pages = 0xbad;
  b.open_eq(0, 4);
  b.cache.failing.insert(9);
  b.complete(9, 0, 10_ns);
  b.complete(5, 0, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("bad_reports"), 1);
  EXPECT_EQ(b.stat("cqes_lost"), 1);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CQ_ERROR));
  EXPECT_EQ(b.eqe(0, 0).number, 9U);
  EXPECT_EQ(b.eqe(0, 1).number, 5U);
  EXPECT_EQ(b.reporters[0].answers.size(), 2U);
  EXPECT_EQ(b.cache.pins(), 0);
}

TEST(completion, a_cqe_that_memory_refuses_raises_an_event) {
  bench b;
  b.add_cq(5, 2);
  b.open_eq(0, 4);
  b.failing = ring_at;
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("write_failures"), 1);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CQ_ERROR));
}

// Whatever the context cache does, the CQEs of one CQ stand in memory in the order of their reports.
TEST(completion, order_per_cq_under_random_misses) {
  bench b(3);
  constexpr unsigned cqs = 7;
  constexpr unsigned per_cq = 64;
  std::uint64_t seed = 99;
  const auto random = [&seed](std::uint64_t n) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % n;
  };
  b.cache.latency = [&] { return random(3) == 0 ? ps(0) : ps(static_cast<std::int64_t>(random(700'000))); };
  std::array<std::uint16_t, cqs> next{};
  for (unsigned i = 0; i < cqs; ++i) {
    b.add_cq(i, 6, 0x1000 * i);
    b.cq(i).record = record_at;
  }
  ps at{0};
  for (unsigned i = 0; i < cqs * per_cq * 2; ++i) {
    const auto cq = static_cast<std::uint32_t>(random(cqs));
    if (next[cq] == per_cq) continue;
    at += ps(static_cast<std::int64_t>(1 + random(40'000)));
    b.complete(cq, next[cq]++, at, 0, static_cast<unsigned>(random(3)));
  }
  testing::run_until_idle();
  EXPECT_GT(b.stat("order_waits"), 50);
  std::size_t answers = 0;
  for (const auto& r : b.reporters) answers += r.answers.size();
  EXPECT_EQ(answers, b.sent.size());
  for (unsigned i = 0; i < cqs; ++i) {
    EXPECT_EQ(b.cq(i).pi, next[i]);
    for (std::uint32_t slot = 0; slot < next[i]; ++slot) ASSERT_EQ(b.cqe(slot, 0x1000 * i).index, slot) << "CQ " << i;
  }
  EXPECT_EQ(b.cache.pins(), 0);
  EXPECT_EQ(b.stat("cqes_lost"), 0);
}

TEST(completion, an_answer_comes_only_once_the_cqe_is_on_its_way) {
  bench b;
  b.add_cq(5, 4);
  b.cache.latency = [] { return 300_ns; };
  b.complete(5, 0, 10_ns);
  testing::run_for(315999_ps);
  EXPECT_TRUE(b.reporters[0].answers.empty());
  testing::run_for(2_ps);
  ASSERT_EQ(b.reporters[0].answers.size(), 1U);
  EXPECT_EQ(b.reporters[0].answers[0].at, 316_ns);
  EXPECT_EQ(b.writes.at(0).at, 316_ns);
}

TEST(completion, hits_cost_two_hand_overs) {
  bench b;
  b.add_cq(5, 10);
  for (std::uint16_t i = 0; i < 500; ++i) b.complete(5, i, ps(i * 10'000));
  const std::uint64_t before = event_queue::instance().hand_overs();
  testing::run_until_idle();
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 1500U);  // with the reporter's own
}

}  // namespace
}  // namespace hcasim
