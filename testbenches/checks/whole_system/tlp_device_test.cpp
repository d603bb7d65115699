// A PCIe device that makes TLPs itself: host memory through the model of PCIe, and through an IOMMU.
#include <gtest/gtest.h>

#include <algorithm>

#include "rtl/tlp_dma_design.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"
#include "tlm/rtl/registry.h"

namespace hcasim {
namespace {

using kit::statistic_of;
using kit::world;

const rtl::registered tlp_dma("device", "tlp_dma", rtl::make_tlp_dma_design);

template <class T>
void set_words(cpu& c, node& n, std::uint64_t offset, T v) {
  c.mmio_write(n.device_bar(0) + offset, std::as_bytes(std::span(&v, 1)));
}

// Returns the status that the engine ends with.
std::uint32_t copy_by_tlps(cpu& c, node& n, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  set_words(c, n, 0x00, from);
  set_words(c, n, 0x08, to);
  set_words(c, n, 0x10, bytes);
  std::uint32_t state = 1;
  while ((state & 1) != 0) c.mmio_read(n.device_bar(0) + 0x14, std::as_writable_bytes(std::span(&state, 1)));
  return state >> 1;
}

system_config with_tlps(double stall = 0) {
  system_config c = world::two_nodes();
  c.nodes[0].device[0].implementation.name = "tlp_dma";
  c.nodes[0].device[0].of_rtl.stall = stall;
  return c;
}

class tlp_device_copies : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(tlp_device_copies, arrive) {
  const std::uint64_t seed = GetParam();
  world w(with_tlps(seed % 2 == 0 ? 0 : 0.3));
  std::uint64_t requests = 0;
  const auto program = [&](cpu& c, node& n) {
    constexpr std::uint64_t reserved = 0x2'0000;
    const std::uint64_t memory = n.host.reserve_physical(reserved, 4096);
    random_stream r(seed, "copies");
    std::vector<std::byte> all(reserved);
    for (std::byte& b : all) b = static_cast<std::byte>(r.below(256));
    n.host.memory_bytes().write(memory, all);
    for (int i = 0; i < 30; ++i) {
      const auto bytes = static_cast<std::uint32_t>(1 + r.below(i % 2 == 0 ? 4096 : 64));
      const std::uint64_t from = r.below(reserved - bytes);
      const std::uint64_t to = r.below(reserved - bytes);
      ASSERT_EQ(copy_by_tlps(c, n, memory + from, memory + to, bytes), 0U);
      const std::vector<std::byte> moved(all.begin() + static_cast<std::ptrdiff_t>(from),
                                         all.begin() + static_cast<std::ptrdiff_t>(from + bytes));
      std::copy(moved.begin(), moved.end(), all.begin() + static_cast<std::ptrdiff_t>(to));
      requests += 2;
    }
    std::vector<std::byte> now(reserved);
    n.host.memory_bytes().read(memory, now);
    EXPECT_TRUE(now == all);
  };
  ASSERT_TRUE(w.run({program}));
  EXPECT_GT(statistic_of(w.at(0).own_device(0), "bursts"), static_cast<double>(requests));
}
INSTANTIATE_TEST_SUITE_P(seeds, tlp_device_copies, ::testing::Range<std::uint64_t>(1, 9));

TEST(tlp_device, an_address_that_leads_nowhere_is_an_unsupported_request) {
  system_config config = with_tlps();
  config.nodes[0].pcie.memory_top = std::uint64_t{1} << 48;
  world w(config);
  const auto program = [](cpu& c, node& n) {
    const std::uint64_t memory = n.host.reserve_physical(4096, 4096);
    EXPECT_EQ(copy_by_tlps(c, n, 0x00ff'0000'0000'0000, memory, 64), 1U);
    EXPECT_EQ(copy_by_tlps(c, n, memory, memory + 100, 64), 0U) << "and goes on";
  };
  ASSERT_TRUE(w.run({program}));
}

}  // namespace
}  // namespace hcasim
