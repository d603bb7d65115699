#include "models/adapter/dma_engine/dma_engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/adapter/dma_engine/fake_pcie.h"
#include "tlm/checker/checker_set.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::fake_pcie;
using testing::value_of;

// 1 GHz; request latency 4 ns, response latency 4 ns, issue 1 ns, PCIe 500 ns.
struct bench {
  clock_domain clock{frequency{1e9}};
  dma_engine dma;
  fake_pcie pcie{"pcie"};
  testing::fake_target<dma_request> local{"local"};
  std::deque<fake_initiator<dma_request>> clients;
  std::deque<dma_request> requests;
  checker_set checkers;
  std::vector<std::byte> buffer = std::vector<std::byte>(1_MiB);

  explicit bench(const dma_engine_config& config = defaults(), unsigned n = 1) : dma("dma", config, clock, n) {
    dma.pcie.bind(pcie.up);
    dma.local.bind(local.in);
    for (unsigned i = 0; i < n; ++i) {
      clients.emplace_back(("client" + std::to_string(i)).c_str());
      clients.back().out.bind(dma.in[i]);
      checkers.watch(clients.back().out);
    }
    for (std::size_t i = 0; i < pcie.memory.size(); ++i) pcie.memory[i] = std::byte(i * 7 + (i >> 8));
  }
  ~bench() { checkers.finish(0_ns); }
  static dma_engine_config defaults() {
    dma_engine_config c;
    c.datapath_width = 0;
    return c;
  }

  dma_request& request(dma_op op, std::uint64_t address, std::uint32_t bytes, std::uint64_t at_buffer = 0) {
    dma_request& r = requests.emplace_back();
    r.op = op;
    r.address = address;
    r.bytes = bytes;
    r.data = &buffer[at_buffer];
    return r;
  }
  dma_request& atomic(std::uint64_t address, std::uint64_t add) {
    dma_request& r = request(dma_op::fetch_add, address, 8, requests.size() * 8);
    r.operand = add;
    return r;
  }
  ps answered(const dma_request& r) const {
    ps at = never;
    for (const auto& c : clients) at = std::min(at, c.answered(r));
    return at;
  }
  std::uint64_t original(const dma_request& r) const {
    std::uint64_t v = 0;
    std::memcpy(&v, r.data, sizeof v);
    return v;
  }
  double stat(std::string_view name) const { return value_of(dma, name); }
};

TEST(dma_engine, read_takes_request_link_and_response_time) {
  bench b;
  dma_request& r = b.request(dma_op::read, 0x1000, 64);
  b.clients[0].send(r, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.pcie.log.at(0).at, 14_ns);
  EXPECT_EQ(b.answered(r), 518_ns);
  EXPECT_FALSE(r.failed);
  EXPECT_TRUE(std::equal(b.buffer.begin(), b.buffer.begin() + 64, b.pcie.memory.begin() + 0x1000));
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, nothing_is_answered_before_the_last_byte) {
  bench b;
  dma_request& r = b.request(dma_op::read, 0, 64);
  b.clients[0].send(r, 0_ns);
  testing::run_for(507999_ps);
  EXPECT_EQ(b.answered(r), never);
  testing::run_for(2_ps);
  EXPECT_EQ(b.answered(r), 508_ns);
}

TEST(dma_engine, splits_at_pages) {
  bench b;
  dma_request& r = b.request(dma_op::read, 4096 - 16, 16 + 4096 + 1);
  b.clients[0].send(r, 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.pcie.log.size(), 3U);
  EXPECT_EQ(b.pcie.log[0].bytes, 16U);
  EXPECT_EQ(b.pcie.log[1].address, 4096U);
  EXPECT_EQ(b.pcie.log[1].bytes, 4096U);
  EXPECT_EQ(b.pcie.log[2].bytes, 1U);
  EXPECT_EQ(b.pcie.log[2].at, 6_ns);  // one issue interval apart
  EXPECT_EQ(b.answered(r), 510_ns);   // the last burst's end
  EXPECT_TRUE(std::equal(b.buffer.begin(), b.buffer.begin() + r.bytes, b.pcie.memory.begin() + 4096 - 16));
}

TEST(dma_engine, bursts_carry_the_number_of_their_request) {
  bench b;
  dma_request& read = b.request(dma_op::read, 4096 - 16, 32);
  read.operation = 7;
  dma_request& add = b.atomic(0x2000, 1);
  add.operation = 8;
  b.clients[0].send(read, 0_ns);
  b.clients[0].send(add, 1_us);
  testing::run_until_idle();
  ASSERT_EQ(b.pcie.log.size(), 4U);
  EXPECT_EQ(b.pcie.log[0].operation, 7U);
  EXPECT_EQ(b.pcie.log[1].operation, 7U);
  EXPECT_EQ(b.pcie.log[2].operation, 8U);
  EXPECT_EQ(b.pcie.log[3].operation, 8U) << "the write of an atomic";
}

TEST(dma_engine, writes_answer_when_landed) {
  bench b;
  dma_request& r = b.request(dma_op::write, 5000, 9000);
  for (std::size_t i = 0; i < r.bytes; ++i) b.buffer[i] = std::byte(i * 3);
  b.clients[0].send(r, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.pcie.log.size(), 3U);
  EXPECT_EQ(b.answered(r), 510_ns);
  EXPECT_TRUE(std::equal(b.buffer.begin(), b.buffer.begin() + r.bytes, b.pcie.memory.begin() + 5000));
}

TEST(dma_engine, a_memory_may_complete_in_the_call) {
  bench b;
  b.pcie.answers = fake_pcie::style::complete;
  dma_request& r = b.request(dma_op::read, 100, 8000);
  dma_request& a = b.atomic(0, 5);
  b.clients[0].send(r, 0_ns);
  b.clients[0].send(a, 100_us);
  testing::run_until_idle();
  ASSERT_EQ(b.clients[0].answers.size(), 2U);
  // Each burst was taken only when the one before had completed.
  EXPECT_EQ(b.answered(r), 4_ns + 2 * 500_ns + 4_ns);
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, waits_for_the_end_of_a_request_that_was_only_accepted) {
  bench b;
  b.pcie.answers = fake_pcie::style::accept;
  b.pcie.take = 30_ns;
  b.clients[0].send(b.request(dma_op::read, 0, 8192), 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.pcie.log.size(), 2U);
  EXPECT_EQ(b.pcie.log[1].at - b.pcie.log[0].at, 30_ns);
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, a_slow_link_paces_the_bursts) {
  bench b;
  b.pcie.take = 20_ns;
  b.clients[0].send(b.request(dma_op::write, 0, 8192), 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.pcie.log.at(1).at - b.pcie.log.at(0).at, 20_ns);
}

// Little: tags * MRRS / latency.
void expect_read_bandwidth(std::uint32_t tags, std::uint64_t mrrs) {
  dma_engine_config c = bench::defaults();
  c.read_tags = tags;
  c.mrrs = mrrs;
  bench b(c);
  constexpr std::uint32_t total = 512 << 10;
  dma_request& r = b.request(dma_op::read, 0, total);
  b.clients[0].send(r, 0_ns);
  testing::run_until_idle();
  const double measured = total / to_ns(b.answered(r));
  const double formula = static_cast<double>(tags * mrrs) / 500;
  EXPECT_NEAR(measured / formula, 1, 0.02) << tags << " tags of " << mrrs;
  EXPECT_TRUE(std::equal(b.buffer.begin(), b.buffer.begin() + total, b.pcie.memory.begin()));
}
TEST(dma_engine, bandwidth_of_8_tags_of_512) {
  expect_read_bandwidth(8, 512);
}
TEST(dma_engine, bandwidth_of_3_tags_of_256) {
  expect_read_bandwidth(3, 256);
}
TEST(dma_engine, bandwidth_of_17_tags_of_128) {
  expect_read_bandwidth(17, 128);
}
TEST(dma_engine, bandwidth_of_1_tag_of_4096) {
  expect_read_bandwidth(1, 4096);
}

TEST(dma_engine, a_read_waits_for_a_tag_and_not_longer) {
  dma_engine_config c = bench::defaults();
  c.read_tags = 1;
  bench b(c);
  dma_request& first = b.request(dma_op::read, 0, 64);
  dma_request& second = b.request(dma_op::read, 512, 64);
  b.clients[0].send(first, 0_ns);
  b.clients[0].send(second, 1_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.pcie.log.at(1).at, 504_ns);
  EXPECT_EQ(b.answered(second), 1008_ns);
  EXPECT_EQ(b.stat("tag_stalls"), 1);
}

// Without turns, the more WQEs are fetched at once, the longer the next ones wait behind their payload.
TEST(dma_engine, sources_of_reads_take_turns) {
  dma_engine_config c = bench::defaults();
  c.read_tags = 1;
  bench b(c);
  for (std::uint64_t i = 0; i < 20; ++i) b.clients[0].send(b.request(dma_op::read, i * 512, 64), ps(1000) * i);
  for (std::uint64_t i = 20; i < 23; ++i) {
    dma_request& r = b.request(dma_op::read, i * 512, 64);
    r.source = dma_source::wqe;
    b.clients[0].send(r, 30_ns);
  }
  testing::run_until_idle();
  std::vector<std::uint64_t> order;
  for (const auto& burst : b.pcie.log) order.push_back(burst.address / 512);
  EXPECT_EQ(order,
            (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 20, 8, 9, 10, 11, 12, 13, 14, 15, 21, 16, 17, 18, 19, 22}));
}

// A source in turn does not pass a write that was requested before.
TEST(dma_engine, turns_do_not_pass_a_write) {
  dma_engine_config c = bench::defaults();
  c.write_buffer = 64;
  bench b(c);
  b.clients[0].send(b.request(dma_op::write, 0, 128, 0), 0_ns);
  b.clients[0].send(b.request(dma_op::read, 1024, 64, 4096), 1_ns);
  b.clients[0].send(b.request(dma_op::write, 2048, 64, 0), 2_ns);
  dma_request& r = b.request(dma_op::read, 2048, 64, 8192);
  r.source = dma_source::wqe;
  b.clients[0].send(r, 3_ns);
  testing::run_until_idle();
  std::vector<std::uint64_t> order;
  for (const auto& burst : b.pcie.log) order.push_back(burst.address);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 64, 1024, 2048, 2048}));
  EXPECT_TRUE(b.pcie.log.at(3).write);
}

TEST(dma_engine, writes_pass_reads_that_wait_for_tags) {
  dma_engine_config c = bench::defaults();
  c.read_tags = 1;
  bench b(c);
  b.clients[0].send(b.request(dma_op::read, 0, 64), 0_ns);
  b.clients[0].send(b.request(dma_op::read, 512, 64), 1_ns);
  b.clients[0].send(b.request(dma_op::write, 1024, 64), 2_ns);
  testing::run_until_idle();
  EXPECT_TRUE(b.pcie.log.at(1).write);
  EXPECT_EQ(b.pcie.log[1].at, 6_ns);
}

TEST(dma_engine, reads_never_pass_an_earlier_write) {
  dma_engine_config c = bench::defaults();
  c.write_buffer = 64;
  bench b(c);
  dma_request& w = b.request(dma_op::write, 0, 192, 0);
  dma_request& r = b.request(dma_op::read, 128, 64, 4096);
  for (std::size_t i = 0; i < 192; ++i) b.buffer[i] = std::byte(200 - i);
  b.clients[0].send(w, 0_ns);
  b.clients[0].send(r, 1_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.pcie.log.size(), 4U);
  EXPECT_FALSE(b.pcie.log[3].write);
  EXPECT_EQ(b.pcie.log[3].at, 1005_ns);  // one issue after the third part of the write, which waited for two to land
  EXPECT_TRUE(std::equal(b.buffer.begin() + 128, b.buffer.begin() + 192, b.buffer.begin() + 4096));
  EXPECT_EQ(b.stat("buffer_stalls"), 0);
}

TEST(dma_engine, write_bandwidth_is_buffer_over_latency) {
  dma_engine_config c = bench::defaults();
  c.write_buffer = 8192;
  bench b(c);
  dma_request& w = b.request(dma_op::write, 0, 512 << 10);
  b.clients[0].send(w, 0_ns);
  testing::run_until_idle();
  EXPECT_NEAR((512 << 10) / to_ns(b.answered(w)) / (8192.0 / 500), 1, 0.02);
}

TEST(dma_engine, datapath_bounds_the_rate) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 4;
  c.read_tags = 4096;
  c.write_buffer = 1_MiB;
  bench b(c);
  dma_request& r = b.request(dma_op::read, 0, 256 << 10);
  dma_request& w = b.request(dma_op::write, 512 << 10, 256 << 10, 512 << 10);
  b.clients[0].send(r, 0_ns);
  b.clients[0].send(w, 200_us);
  testing::run_until_idle();
  EXPECT_NEAR((256 << 10) / to_ns(b.answered(r)), 4, 0.08);
  EXPECT_NEAR((256 << 10) / to_ns(b.answered(w) - 200_us), 4, 0.08);
}

TEST(dma_engine, store_and_forward_adds_the_burst) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 8;
  c.store_and_forward = true;
  bench b(c);
  dma_request& r = b.request(dma_op::read, 0, 512);
  dma_request& w = b.request(dma_op::write, 0, 512);
  b.clients[0].send(r, 0_ns);
  b.clients[0].send(w, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(r), 508_ns + 64_ns);
  EXPECT_EQ(b.answered(w), 2_us + 508_ns + 64_ns);
}

class dma_store : public ::testing::TestWithParam<int> {};

// The store of one burst overlaps the transfer of the one before: the slower of the two is the interval.
TEST_P(dma_store, keeps_the_slower_rate) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 8;
  c.store_and_forward = true;
  bench b(c);
  b.pcie.take = ps(GetParam() * 1000);
  std::vector<dma_request*> writes;
  for (unsigned i = 0; i < 32; ++i) {
    writes.push_back(&b.request(dma_op::write, i * 512, 512, i * 512));
    b.clients[0].send(*writes.back(), 0_ns);
  }
  testing::run_until_idle();
  EXPECT_EQ(b.answered(*writes.back()) - b.answered(*writes.front()), 31 * std::max(b.pcie.take, 64_ns));
}

INSTANTIATE_TEST_SUITE_P(link_takes_ns, dma_store, ::testing::Values(0, 40, 100));

// 16 cycles for each line of 128 B of a write, and 5 for the burst.
TEST(dma_engine, writes_move_in_whole_lines) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 8;
  c.write_line = 128;
  c.write_command = 5;
  bench b(c);
  b.clients[0].send(b.request(dma_op::write, 0, 129), 0_ns);
  b.clients[0].send(b.request(dma_op::write, 4096, 1), 0_ns);
  b.clients[0].send(b.request(dma_op::write, 8192, 1), 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.pcie.log.size(), 3U);
  EXPECT_EQ(b.pcie.log[1].at - b.pcie.log[0].at, 37_ns);
  EXPECT_EQ(b.pcie.log[2].at - b.pcie.log[1].at, 21_ns);
}

// 8 cycles for each line of 64 B that comes back, and 3 for each PCIe read request.
TEST(dma_engine, reads_come_back_in_whole_lines) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 8;
  c.read_line = 64;
  c.read_command = 3;
  c.store_and_forward = true;
  bench b(c);
  dma_request& line = b.request(dma_op::read, 0, 1);
  dma_request& two_requests = b.request(dma_op::read, 0, 513);
  b.clients[0].send(line, 0_ns);
  b.clients[0].send(two_requests, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(line), 508_ns + 11_ns);
  EXPECT_EQ(b.answered(two_requests), 2_us + 508_ns + 9 * 8_ns + 2 * 3_ns);
}

TEST(dma_engine, a_read_waits_for_the_bytes_of_an_earlier_write) {
  dma_engine_config c = bench::defaults();
  c.write_latency = 200;
  bench b(c, 2);
  dma_request& before = b.request(dma_op::read, 0, 8);
  dma_request& write = b.request(dma_op::write, 64, 8);
  dma_request& behind = b.request(dma_op::read, 128, 8);
  b.clients[0].send(before, 0_ns);
  b.clients[0].send(write, 1_ns);
  b.clients[1].send(behind, 2_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(before), 508_ns);
  EXPECT_EQ(b.answered(write), 1_ns + 708_ns);
  EXPECT_EQ(b.answered(behind), 1_ns + 708_ns + 1_ns);  // one issue interval later
}

TEST(dma_engine, cut_through_adds_no_latency) {
  dma_engine_config c = bench::defaults();
  c.datapath_width = 8;
  bench b(c);
  dma_request& r = b.request(dma_op::read, 0, 512);
  b.clients[0].send(r, 1_us);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(r), 1508_ns);
}

TEST(dma_engine, atomics_of_one_bucket_serialise_and_see_each_other) {
  dma_engine_config c = bench::defaults();
  c.atomic_buckets = 16;
  bench b(c, 2);
  b.pcie.set_word(64, 100);
  std::vector<dma_request*> all;
  for (unsigned i = 0; i < 8; ++i) {
    all.push_back(&b.atomic(64, 1));
    b.clients[i % 2].send(*all.back(), ps(i * 1000));
  }
  testing::run_until_idle();
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(b.original(*all[i]), 100 + i);
  EXPECT_EQ(b.pcie.word(64), 108U);
  EXPECT_EQ(b.stat("lock_waits"), 7);
  // Read 500 ns, modify 2 ns, then the write is issued and 4 ns later the answer.
  EXPECT_EQ(b.answered(*all[0]), 4_ns + 502_ns + 4_ns);
  // The next read goes out one issue interval behind the write.
  EXPECT_EQ(b.answered(*all[1]) - b.answered(*all[0]), 503_ns);
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, atomics_of_different_buckets_overlap) {
  dma_engine_config c = bench::defaults();
  c.atomic_buckets = 16;
  bench b(c);
  std::vector<dma_request*> all;
  for (unsigned i = 0; i < 8; ++i) {
    all.push_back(&b.atomic(64 + 8 * i, 1));
    b.clients[0].send(*all.back(), 0_ns);
  }
  dma_request& same = b.atomic(64 + 8 * 16, 1);  // the bucket of the first
  b.clients[0].send(same, 0_ns);
  testing::run_until_idle();
  EXPECT_LT(b.answered(*all[7]), 530_ns);
  EXPECT_GT(b.answered(same), 1000_ns);
  EXPECT_EQ(b.stat("lock_waits"), 1);
}

// One atomic per round trip and bucket.
TEST(dma_engine, atomic_rate_is_buckets_over_hold_time) {
  dma_engine_config c = bench::defaults();
  c.atomic_buckets = 4;
  bench b(c);
  ps last{0};
  for (unsigned i = 0; i < 400; ++i) b.clients[0].send(b.atomic(8 * (i % 4), 1), 0_ns);
  testing::run_until_idle();
  for (const auto& a : b.clients[0].answers) last = std::max(last, a.at);
  const double rate = 400 / to_us(last);
  EXPECT_NEAR(rate / (4 / 0.503), 1, 0.02);
}

TEST(dma_engine, atomics_begin_one_interval_apart) {
  dma_engine_config c = bench::defaults();
  c.atomic_interval = 40;
  bench b(c);
  for (std::uint64_t i = 0; i < 4; ++i) b.clients[0].send(b.atomic(64 * i, 1), 0_ns);
  testing::run_until_idle();
  std::vector<ps> reads;
  for (const auto& burst : b.pcie.log) {
    if (!burst.write) reads.push_back(burst.at);
  }
  EXPECT_EQ(reads, (std::vector<ps>{4_ns, 44_ns, 84_ns, 124_ns}));
}

ps begin_of_read(const bench& b, std::uint64_t address) {
  for (const auto& burst : b.pcie.log) {
    if (!burst.write && burst.address == address) return burst.at;
  }
  return never;
}

// Two of three atomics of one bucket wait for their lock. An atomic of another bucket passes if more than two may wait.
TEST(dma_engine, waiting_atomics_stop_those_behind) {
  dma_engine_config c = bench::defaults();
  c.atomic_waiters = 3;
  bench b(c);
  for (int i = 0; i < 3; ++i) b.clients[0].send(b.atomic(64, 1), 0_ns);
  b.clients[0].send(b.atomic(128, 1), 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.pcie.word(64), b.original(b.requests[0]) + 3);
  EXPECT_LT(begin_of_read(b, 128), 20_ns);
}

TEST(dma_engine, an_atomic_behind_waiting_ones_begins_with_the_next_lock) {
  dma_engine_config c = bench::defaults();
  c.atomic_waiters = 2;
  bench b(c);
  for (int i = 0; i < 3; ++i) b.clients[0].send(b.atomic(64, 1), 0_ns);
  b.clients[0].send(b.atomic(128, 1), 0_ns);
  testing::run_until_idle();
  EXPECT_GT(begin_of_read(b, 128), 500_ns) << "until the first one has its old value";
  EXPECT_LT(begin_of_read(b, 128), 520_ns);
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, compare_swap_writes_only_on_a_match) {
  bench b;
  b.pcie.set_word(0, 7);
  dma_request& miss = b.request(dma_op::compare_swap, 0, 8, 0);
  miss.compare = 6;
  miss.operand = 9;
  dma_request& hit = b.request(dma_op::compare_swap, 0, 8, 8);
  hit.compare = 7;
  hit.operand = 9;
  b.clients[0].send(miss, 0_ns);
  b.clients[0].send(hit, 1_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.original(miss), 7U);
  EXPECT_EQ(b.original(hit), 7U);
  EXPECT_EQ(b.pcie.word(0), 9U);
  EXPECT_EQ(b.stat("write_bursts"), 1);
}

TEST(dma_engine, a_later_read_sees_the_atomic) {
  bench b;
  b.pcie.set_word(0, 1);
  dma_request& a = b.atomic(0, 41);
  dma_request& r = b.request(dma_op::read, 0, 8, 512);
  b.clients[0].send(a, 0_ns);
  b.clients[0].send(r, 511_ns);  // just after the answer
  testing::run_until_idle();
  EXPECT_EQ(b.answered(a), 510_ns);
  EXPECT_EQ(b.original(r), 42U);
}

TEST(dma_engine, failures_are_reported_and_free_everything) {
  bench b;
  b.pcie.fails_from = 0x8000;
  dma_request& r = b.request(dma_op::read, 0x8000 - 64, 128);
  dma_request& w = b.request(dma_op::write, 0x9000, 64);
  dma_request& a = b.atomic(0xa000, 1);
  dma_request& waits = b.atomic(0xa000, 1);
  dma_request& odd = b.atomic(0x104, 1);
  dma_request& good = b.request(dma_op::read, 0, 64);
  for (dma_request* q : {&r, &w, &a, &waits, &odd, &good}) b.clients[0].send(*q, 0_ns);
  testing::run_until_idle();
  for (dma_request* q : {&r, &w, &a, &waits, &odd}) EXPECT_TRUE(q->failed);
  EXPECT_FALSE(good.failed);
  EXPECT_EQ(b.clients[0].answers.size(), 6U);
  EXPECT_EQ(b.stat("failures"), 4);
  EXPECT_TRUE(b.dma.idle());
}

TEST(dma_engine, an_empty_request_is_answered_at_once) {
  bench b;
  dma_request& r = b.request(dma_op::write, 0, 0);
  b.clients[0].send(r, 3_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.answered(r), 3_ns);
  EXPECT_TRUE(b.pcie.log.empty());
}

TEST(dma_engine, a_request_costs_two_hand_overs) {
  bench b;
  for (unsigned i = 0; i < 100; ++i) b.clients[0].send(b.request(dma_op::read, 64 * i, 64, 64 * i), ps(i * 10'000));
  const std::uint64_t before = event_queue::instance().hand_overs();
  testing::run_until_idle();
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 400U);  // with the client's send and the link's answer
}

TEST(dma_engine, random_traffic_matches_a_reference_memory) {
  dma_engine_config c = bench::defaults();
  c.read_tags = 5;
  c.write_buffer = 1000;
  c.datapath_width = 16;
  bench b(c, 3);
  std::uint64_t seed = 12345;
  const auto random = [&seed](std::uint64_t n) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % n;
  };
  std::vector<std::byte> reference(b.pcie.memory.begin(), b.pcie.memory.begin() + 0x10000);
  std::deque<std::vector<std::byte>> data;
  for (unsigned i = 0; i < 2000; ++i) {
    const auto bytes = static_cast<std::uint32_t>(1 + random(6000));
    const std::uint64_t address = random(0x10000 - bytes);
    dma_request& r = b.request(random(2) ? dma_op::read : dma_op::write, address, bytes);
    data.emplace_back(bytes);
    r.data = data.back().data();
    if (r.op == dma_op::write) {
      for (std::byte& x : data.back()) x = std::byte(random(256));
      std::copy(data.back().begin(), data.back().end(), reference.begin() + static_cast<std::ptrdiff_t>(address));
    }
    b.clients[i % 3].send(r, ps(static_cast<std::int64_t>(i) * 20'000));
  }
  dma_request& back = b.request(dma_op::read, 0, 0x10000);  // requested last, so it sees every write
  b.clients[0].send(back, 2000 * 20_ns);
  testing::run_until_idle();
  EXPECT_TRUE(std::equal(reference.begin(), reference.end(), b.pcie.memory.begin()));
  EXPECT_TRUE(std::equal(reference.begin(), reference.end(), b.buffer.begin()));
  std::size_t answers = 0;
  for (const auto& client : b.clients) answers += client.answers.size();
  EXPECT_EQ(answers, 2001U);
  EXPECT_TRUE(b.dma.idle());
}

}  // namespace
}  // namespace hcasim
