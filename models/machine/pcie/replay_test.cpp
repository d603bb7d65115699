// Retransmission by the link layer: its time, and its notes in registers.
#include <gtest/gtest.h>

#include <cstring>

#include "models/machine/pcie/pcie_bench.h"

namespace hcasim {
namespace {

using testing::bench;
using testing::run_until_idle;

pcie_config without_dllps() {
  pcie_config c;
  c.dllp_overhead = 0;
  return c;
}
ps time_of(const pcie_config& c, std::uint64_t bytes) {
  return pcie_rate(c.generation, c.lanes).time_for(bytes);
}

std::uint32_t corrected(bench& b) {
  auto& r = b.core.send(false, PCI_CONFIG_WINDOW + PCI_ERROR_CORRECTABLE, 4, now());
  run_until_idle();
  std::uint32_t word = 0;
  std::memcpy(&word, r.data.data(), sizeof word);
  return word;
}

TEST(replay, a_garbled_completion_comes_again) {
  const pcie_config c = without_dllps();
  bench b(c);
  testing::inject(b.tree, "receiver_error", 1);
  auto& r = b.dma[0].send(false, 0x1040, 64, 10_ns);
  run_until_idle();
  const ps once = 10_ns + time_of(c, 26) + c.link_latency + c.root_read_latency + 80_ns + time_of(c, 64 + 22) + c.link_latency;
  EXPECT_EQ(r.answered, once + 2 * c.link_latency + time_of(c, 64 + 22));
  EXPECT_TRUE(r.is_response_ok());
  EXPECT_EQ(b.value("device0_down_replays"), 1);
  EXPECT_EQ(corrected(b), std::uint32_t{PCI_CORRECTED_RECEIVER});
  b.core.send(true, PCI_CONFIG_WINDOW + PCI_ERROR_CORRECTABLE, 4, now()).fill(std::byte{0xff});
  run_until_idle();
  EXPECT_EQ(corrected(b), 0U) << "written with ones it is clear";
}

TEST(replay, an_unacknowledged_burst_is_sent_again) {
  pcie_config c = without_dllps();
  c.replay_timer = 500_ns;
  bench b(c);
  testing::inject(b.tree, "replay_timeout", 1);
  auto& first = b.dma[0].send(true, 0x1000, 256, 0_ps);
  const ps again = time_of(c, 256 + 26) + c.replay_timer;
  auto& second = b.dma[0].send(true, 0x2000, 256, again);  // finds the link taken
  run_until_idle();
  const ps way = c.link_latency + c.root_write_latency + b.memory.latency;
  EXPECT_EQ(first.answered, time_of(c, 256 + 26) + way) << "it had arrived";
  EXPECT_EQ(second.answered, again + 2 * time_of(c, 256 + 26) + way);
  EXPECT_EQ(b.memory.log.size(), 2U) << "its repetition is thrown away";
  EXPECT_EQ(corrected(b), std::uint32_t{PCI_CORRECTED_REPLAY_TIMEOUT});
}

}  // namespace
}  // namespace hcasim
