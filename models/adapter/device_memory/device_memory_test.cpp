#include "models/adapter/device_memory/device_memory.h"

#include <gtest/gtest.h>

#include <array>

#include "firmware/abi/registers.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

struct bench {
  clock_domain clock{frequency{1e9}};
  device_memory unit_under_test{"device_memory", {.size = 8192, .latency = 8, .bytes_per_cycle = 64}, clock};
  testing::fake_initiator<dma_request> dma{"dma"};
  testing::fake_initiator<register_access> window{"window"};
  bench() {
    dma.out.bind(unit_under_test.dma);
    window.out.bind(unit_under_test.window);
  }
};

dma_request request(dma_op op, std::uint64_t offset, std::byte* data, std::uint32_t bytes) {
  dma_request r;
  r.op = op;
  r.address = HCA_DM_BASE + offset;
  r.data = data;
  r.bytes = bytes;
  return r;
}

// 8 cycles to the first byte and one for each 64 B; the port is busy meanwhile.
TEST(DeviceMemory, TakesItsLatencyAndItsWidth) {
  bench b;
  std::array<std::byte, 256> from{};
  from.fill(std::byte{5});
  std::array<std::byte, 256> to{};
  dma_request w = request(dma_op::write, 100, from.data(), 256);
  dma_request r = request(dma_op::read, 100, to.data(), 256);
  b.dma.send(w, 10_ns);
  b.dma.send(r, 10_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.dma.answers.size(), 2U);
  EXPECT_EQ(b.dma.answers[0].at, 10_ns + 12_ns);
  EXPECT_EQ(b.dma.answers[1].at, 14_ns + 12_ns);
  EXPECT_EQ(to, from);
}

TEST(DeviceMemory, AtomicsReturnWhatWasThere) {
  bench b;
  std::uint64_t original = 7;
  auto* const data = reinterpret_cast<std::byte*>(&original);
  dma_request add = request(dma_op::fetch_add, 8, data, 8);
  add.operand = 5;
  b.dma.send(add, 1_ns);
  testing::run_for(100_ns);
  EXPECT_EQ(original, 0U);
  dma_request swap = request(dma_op::compare_swap, 8, data, 8);
  swap.compare = 5;
  swap.operand = 9;
  b.dma.send(swap, 200_ns);
  testing::run_for(300_ns);
  EXPECT_EQ(original, 5U);
  register_access look;
  look.offset = HCA_BAR_DM + 8;
  look.bytes = 8;
  b.window.send(look, 500_ns);
  testing::run_until_idle();
  EXPECT_EQ(look.value, 9U);
}

TEST(DeviceMemory, BytesOutsideAreRefused) {
  bench b;
  std::array<std::byte, 64> data{};
  dma_request beyond = request(dma_op::write, 8192 - 63, data.data(), 64);
  dma_request last = request(dma_op::write, 8192 - 64, data.data(), 64);
  register_access look;
  look.offset = HCA_BAR_DM + 8192;
  look.bytes = 4;
  b.dma.send(beyond, 1_ns);
  b.dma.send(last, 50_ns);
  b.window.send(look, 100_ns);
  testing::run_until_idle();
  EXPECT_TRUE(beyond.failed);
  EXPECT_FALSE(last.failed);
  EXPECT_EQ(look.value, ~std::uint64_t{0});
}

}  // namespace
}  // namespace hcasim
