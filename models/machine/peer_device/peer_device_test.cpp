#include "models/machine/peer_device/peer_device.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <deque>
#include <map>

#include "tlm/testing/burst_memory.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

using testing::burst_memory;
using testing::burst_source;
using testing::run_until_idle;
using testing::value_of;

// Accesses the BAR as another device or a core does.
class requester : public burst_source {
 public:
  using burst_source::burst_source;
  ~requester() override { EXPECT_TRUE(all_in_call()); }
  burst& read(std::uint64_t address, std::size_t bytes, ps at) { return send(false, address, at, bytes); }
  burst& write(std::uint64_t address, std::size_t bytes, std::byte fill, ps at) {
    burst& b = send(true, address, at, bytes);
    b.fill(fill);
    return b;
  }
};

struct bench {
  requester core{"core"};
  burst_memory host{"host"};
  peer_device gpu;

  explicit bench(const peer_device_config& c = peer_device_config::gpu()) : gpu("gpu", c) {
    core.out.bind(gpu.bar);
    gpu.pcie.bind(host.in);
    host.latency = 500_ns;
    host.repeats = false;
    host.answers = burst_memory::style::taken_then_backward;
  }
  requester::burst& copy(const peer_copy& c, ps at) {
    auto& b = core.send(true, PEER_BAR_REGISTERS + PEER_REG_COPY, at, sizeof c);
    b.fill(&c, sizeof c);
    return b;
  }
  [[nodiscard]] double value(std::string_view name) const { return value_of(gpu, name); }
};

TEST(peer_device, a_write_lands_exactly_then_and_a_read_sees_it) {
  const auto c = peer_device_config::gpu();
  bench b;
  auto& w = b.core.write(0x10040, 256, std::byte{7}, 5_ns);
  auto& r = b.core.read(0x10040, 64, 900_ns);
  run_until_idle();
  EXPECT_EQ(w.answered, 5_ns + c.write_rate.time_for(256) + c.write_latency);
  EXPECT_EQ(r.answered, 900_ns + c.read_latency + c.read_rate.time_for(64));
  EXPECT_EQ(r.data, std::vector<std::byte>(64, std::byte{7}));
  EXPECT_TRUE(r.is_response_ok() && w.is_response_ok());
  EXPECT_EQ(event_queue::instance().hand_overs(), 2U) << "the device costs no kernel event";
}

TEST(peer_device, writes_go_one_after_the_other_at_their_rate) {
  const auto c = peer_device_config::gpu();
  bench b;
  for (int i = 0; i < 100; ++i) b.core.write(0, 4096, std::byte{1}, 0_ps);
  run_until_idle();
  EXPECT_EQ(b.core.bursts.back().answered, 100 * c.write_rate.time_for(4096) + c.write_latency);
}

// The device reads as many bytes as fit into the slots in the time of one read, and never more than the rate.
void read_throughput(std::uint32_t slots, std::size_t bytes) {
  auto c = peer_device_config::gpu();
  c.read_slots = slots;
  bench b(c);
  constexpr int n = 4000;
  for (int i = 0; i < n; ++i) b.core.read(0, bytes, 0_ps);
  run_until_idle();
  const double took = to_seconds(b.core.bursts[n - 1].answered - b.core.bursts[n / 2 - 1].answered);
  const double rate = static_cast<double>(bytes) * 8 * n / 2 / took;
  const double one = to_seconds(c.read_latency + c.read_rate.time_for(bytes));
  const double by_slots = slots * static_cast<double>(bytes) * 8 / one;
  EXPECT_NEAR(rate / std::min(by_slots, c.read_rate.bits_per_second), 1.0, 0.02);
}
TEST(peer_device, reads_are_bounded_by_their_slots) {
  read_throughput(4, 256);
}
TEST(peer_device, reads_are_bounded_by_one_slot) {
  read_throughput(1, 4096);
}
TEST(peer_device, reads_are_bounded_by_their_rate) {
  read_throughput(64, 4096);
}

TEST(peer_device, the_read_after_the_last_slot_waits_exactly) {
  auto c = peer_device_config::gpu();
  c.read_slots = 2;
  bench b(c);
  b.core.read(0, 64, 0_ps);
  b.core.read(0, 64, 0_ps);
  auto& third = b.core.read(0, 64, 1_ns);
  run_until_idle();
  const ps one = c.read_rate.time_for(64);
  EXPECT_EQ(b.core.bursts[0].answered, c.read_latency + one);
  EXPECT_EQ(b.core.bursts[1].answered, c.read_latency + 2 * one);
  EXPECT_EQ(third.answered, b.core.bursts[0].answered + c.read_latency + one);
  EXPECT_EQ(b.value("read_waits"), 1);
}

TEST(peer_device, bytes_beyond_the_memory_are_refused_and_nothing_changes) {
  auto c = peer_device_config::gpu();
  c.memory = 1_MiB;
  bench b(c);
  auto& w = b.core.write(1_MiB - 32, 64, std::byte{9}, 0_ps);
  auto& r = b.core.read(1_MiB, 4, 0_ps);
  auto& far = b.core.read(~std::uint64_t{0} >> 23, 4, 0_ps);  // behind the memory, before the registers
  auto& last = b.core.read(1_MiB - 32, 32, 10_us);
  run_until_idle();
  EXPECT_EQ(w.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(r.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(far.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(last.data, std::vector<std::byte>(32));
  EXPECT_EQ(b.value("outside"), 3);
  EXPECT_EQ(b.gpu.memory().resident_bytes(), 0U);
}

TEST(peer_device, registers_say_what_it_is) {
  bench b(peer_device_config::nvme());
  auto& id = b.core.read(PEER_BAR_REGISTERS, 16, 0_ps);
  auto& wrong = b.core.write(PEER_BAR_REGISTERS + 8, 8, std::byte{1}, 0_ps);
  run_until_idle();
  std::uint32_t words[2];
  std::uint64_t memory = 0;
  std::memcpy(words, id.data.data(), 8);
  std::memcpy(&memory, id.data.data() + 8, 8);
  EXPECT_EQ(words[0], std::uint32_t{PEER_DEVICE_ID});
  EXPECT_EQ(words[1], 12U) << "a controller memory buffer has pages of 4 KiB";
  EXPECT_EQ(memory, 128_MiB);
  EXPECT_EQ(wrong.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST(peer_device, a_copy_to_the_host_moves_its_bytes_and_then_its_fence) {
  const auto c = peer_device_config::gpu();
  bench b;
  std::vector<std::byte> pattern(10000);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i * 13 + (i >> 8));
  b.gpu.memory().write(0x12345, pattern);
  b.copy({0x12345, 0x3800, pattern.size(), 0x80, 42, PEER_COPY_TO_HOST, {}}, 0_ps);
  run_until_idle();
  EXPECT_EQ(0, std::memcmp(&b.host.bytes[0x3800], pattern.data(), pattern.size()));
  // 2 KiB up to the boundary, one of 4 KiB, the rest, the fence.
  ASSERT_EQ(b.host.log.size(), 4U);
  EXPECT_EQ(b.host.log[0].at, c.copy_setup);
  EXPECT_EQ(b.host.log[1].at, c.copy_setup + c.copy_rate.time_for(2048));
  EXPECT_EQ(b.host.log[2].at, c.copy_setup + c.copy_rate.time_for(2048) + c.copy_rate.time_for(4096));
  EXPECT_EQ(b.host.log[3].address, 0x80U);
  EXPECT_EQ(b.host.log[3].at, b.host.log[2].at + b.host.latency) << "after the last byte has landed";
  std::uint32_t fence = 0;
  std::memcpy(&fence, &b.host.bytes[0x80], 4);
  EXPECT_EQ(fence, 42U);
  EXPECT_EQ(b.value("copied_to_host"), 10000);
  EXPECT_TRUE(b.gpu.idle());
}

TEST(peer_device, a_copy_from_the_host_keeps_within_its_bursts_and_its_rate) {
  auto c = peer_device_config::gpu();
  c.copy_outstanding = 4;
  bench b(c);
  for (std::size_t i = 0; i < b.host.bytes.size(); ++i) b.host.bytes[i] = static_cast<std::byte>(i * 7 + (i >> 10));
  b.copy({64_KiB, 0, 512_KiB, 0, 0, 0, {}}, 0_ps);
  run_until_idle();
  std::vector<std::byte> got(512_KiB);
  b.gpu.memory().read(64_KiB, got);
  EXPECT_EQ(0, std::memcmp(got.data(), b.host.bytes.data(), got.size()));
  EXPECT_EQ(b.host.most_under_way, 4U);
  // Little: four bursts of 4 KiB in each round trip.
  const double took = to_seconds(b.host.log.back().at - b.host.log.front().at);
  EXPECT_NEAR(took / (124.0 / 4 * to_seconds(b.host.latency)), 1.0, 0.02);
}

TEST(peer_device, copies_wait_their_turn_and_answers_in_the_call_do_as_well) {
  const auto c = peer_device_config::gpu();
  bench b;
  b.host.answers = burst_memory::style::in_call;
  b.copy({0, 0, 4096, 0x8000, 1, PEER_COPY_TO_HOST, {}}, 0_ps);
  b.copy({0, 4096, 4096, 0x8004, 2, PEER_COPY_TO_HOST, {}}, 0_ps);
  run_until_idle();
  ASSERT_EQ(b.host.log.size(), 4U);
  EXPECT_EQ(b.host.log[1].at, c.copy_setup + b.host.latency);
  EXPECT_EQ(b.host.log[2].at, 2 * c.copy_setup + b.host.latency);
  EXPECT_EQ(b.value("copies"), 2);
}

TEST(peer_device, a_copy_to_an_unreachable_address_reports_it) {
  bench b;
  b.copy({0, 1_MiB, 4096, 0x80, 5, PEER_COPY_TO_HOST, {}}, 0_ps);
  b.copy({16_GiB - 64, 0, 128, 0x84, 6, 0, {}}, 0_ps);
  b.copy({0, 0, 64, 0x88, 7, 0, {}}, 0_ps);
  run_until_idle();
  std::uint32_t fences[3];
  std::memcpy(fences, &b.host.bytes[0x80], 12);
  EXPECT_EQ(fences[0], 5 | PEER_COPY_FAILED);
  EXPECT_EQ(fences[1], 6 | PEER_COPY_FAILED);
  EXPECT_EQ(fences[2], 7U) << "the next one is not concerned";
  EXPECT_EQ(b.value("copies_failed"), 2);
}

TEST(peer_device, a_fence_tells_of_the_copies_before_it_that_have_none) {
  bench b;
  b.copy({0, 1_MiB, 4096, 0, 0, PEER_COPY_TO_HOST, {}}, 0_ps);
  b.copy({0, 0, 64, 0x80, 1, 0, {}}, 0_ps);
  b.copy({0, 0, 64, 0x84, 2, 0, {}}, 0_ps);
  run_until_idle();
  std::uint32_t fences[2];
  std::memcpy(fences, &b.host.bytes[0x80], sizeof fences);
  EXPECT_EQ(fences[0], 1 | PEER_COPY_FAILED);
  EXPECT_EQ(fences[1], 2U);
}

TEST(peer_device, contradictory_configurations_are_refused) {
  auto c = peer_device_config::gpu();
  c.page = 96_KiB;
  EXPECT_THROW(peer_device("a", c), std::invalid_argument);
  c = peer_device_config::gpu();
  c.copy_burst = 100;
  EXPECT_THROW(peer_device("b", c), std::invalid_argument);
  c = peer_device_config::gpu();
  c.memory = 100_KiB;
  EXPECT_THROW(peer_device("c", c), std::invalid_argument);
}

TEST(peer_rules, sparse_bytes_are_those_of_a_plain_array) {
  EXPECT_TRUE(rc::check("reads and writes at random", [] {
    sparse_bytes m(256_KiB);
    std::vector<std::byte> plain(256_KiB);
    for (int i = 0; i < 30; ++i) {
      const auto at = *rc::gen::inRange<std::uint64_t>(0, 256_KiB);
      const auto n = *rc::gen::inRange<std::uint64_t>(0, std::min<std::uint64_t>(40'000, 256_KiB - at + 1));
      RC_ASSERT(m.inside(at, n));
      if (i % 2 == 0) {
        const std::vector<std::byte> data(n, static_cast<std::byte>(i + 1));
        m.write(at, data);
        std::copy(data.begin(), data.end(), plain.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::vector<std::byte> got(n, std::byte{0xee});
        m.read(at, got);
        RC_ASSERT(std::equal(got.begin(), got.end(), plain.begin() + static_cast<std::ptrdiff_t>(at)));
      }
    }
  }));
  const sparse_bytes m(100);
  EXPECT_TRUE(m.inside(100, 0) && m.inside(0, 100));
  EXPECT_FALSE(m.inside(101, 0) || m.inside(1, 100) || m.inside(50, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace hcasim
