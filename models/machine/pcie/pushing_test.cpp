// Answers to software push the device's writes before them. A write that the link has delivered may still be in an IOMMU.
#include <gtest/gtest.h>

#include "firmware/abi/pci_config.h"
#include "models/machine/pcie/pcie_bench.h"

namespace hcasim {
namespace {

using testing::bench;
using testing::burst_memory;
using testing::run_until_idle;

// Memory answers writes in order, each after two microseconds.
struct slow_bench : bench {
  slow_bench() : bench(pcie_config()) {
    memory.answers = burst_memory::style::backward;
    memory.latency = 2_us;
  }
};
constexpr std::uint64_t command = PCI_CONFIG_WINDOW + PCI_COMMAND;

class pushed : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(pushed, writes_have_landed_before_the_answer) {
  slow_bench b;
  std::vector<testing::pcie_initiator::burst*> writes;
  for (int i = 0; i < 5; ++i) writes.push_back(&b.dma[0].send(true, 0x1000 * static_cast<std::uint64_t>(i), 64, 100_ns * i));
  // Sent while some of them are at memory, and one is not sent yet.
  auto& first = b.core.send(false, GetParam(), 4, 250_ns);
  auto& second = b.core.send(false, GetParam(), 4, 600_ns);
  auto& late = b.dma[0].send(true, 0x8000, 64, 5_us);
  run_until_idle();
  ASSERT_TRUE(first.is_response_ok() && second.is_response_ok());
  EXPECT_GE(first.answered, writes[2]->answered);
  EXPECT_GE(second.answered, writes[4]->answered);
  EXPECT_LE(first.answered, second.answered);
  EXPECT_LT(second.answered, late.answered) << "not of those that come after it";
}
INSTANTIATE_TEST_SUITE_P(registers, pushed, ::testing::Values(bench::bar_base, command),
                         [](const auto& i) { return i.param == command ? "of_configuration" : "of_the_device"; });

TEST(pushing, relaxed_writes_and_those_to_a_peer_are_not_waited_for) {
  pcie_config c;
  bench b(c, 2);
  b.memory.answers = b.bar[1].answers = burst_memory::style::backward;
  b.memory.latency = b.bar[1].latency = 2_us;
  b.dma[0].send(true, 0x1000, 64, 0_ps, true);
  b.dma[0].send(true, bench::bar_base + bench::bar_size, 64, 0_ps);
  auto& r = b.core.send(false, bench::bar_base, 4, 100_ns);
  run_until_idle();
  EXPECT_LT(r.answered, 2_us);
}

TEST(pushing, writes_of_another_device_are_not_waited_for) {
  bench b(pcie_config(), 2);
  b.memory.answers = burst_memory::style::backward;
  b.memory.latency = 2_us;
  b.dma[1].send(true, 0x1000, 64, 0_ps);
  auto& r = b.core.send(false, bench::bar_base, 4, 100_ns);
  run_until_idle();
  EXPECT_LT(r.answered, 2_us);
}

// A fault ends one write, and containment of the device ends the next.
TEST(pushing, writes_that_fail_are_not_waited_for) {
  slow_bench b;
  testing::inject(b.tree, "poisoned_write", 1);
  b.dma[0].send(true, 0x1000, 64, 0_ps);
  b.dma[0].send(true, 0x2000, 64, 10_ns);
  auto& r = b.core.send(false, bench::bar_base, 4, 300_ns);
  run_until_idle();
  EXPECT_TRUE(r.is_response_ok());
  EXPECT_LT(r.answered, 2_us);
}

}  // namespace
}  // namespace hcasim
