// A PCIe device of a user's own beside the adapter: the DMA engines of testbenches/coverification/example, by AXI and by TLPs,
// their driver, host memory.
#include <gtest/gtest.h>

#include <cstring>

#include "firmware/abi/iommu.h"
#include "rtl/my_dma_design.h"
#include "rtl/my_tlp_dma_design.h"
#include "testbenches/checks/whole_system/testing/io_pages.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"
#include "tlm/rtl/registry.h"

namespace hcasim {
namespace {

using kit::statistic_of;
using kit::world;

const rtl::registered my_dma("device", "my_dma", rtl::make_my_dma_design);
const rtl::registered my_tlp_dma("device", "my_tlp_dma", rtl::make_my_tlp_dma_design);

const char* const engines[] = {"my_dma", "my_tlp_dma"};

constexpr std::uint64_t nowhere = 0x00ff'0000'0000'0000;

// The memory that the driver of the device has reserved.
struct buffers {
  std::uint64_t memory;
  std::uint64_t flag;
  explicit buffers(node& n) : memory(n.host.reserve_physical(0x20'0000, 4096)), flag(n.host.reserve_physical(4096, 4096)) {}
};

template <class T>
void put(cpu& c, node& n, std::uint64_t offset, T v, std::size_t i = 0) {
  c.mmio_write(n.device_bar(i) + offset, std::as_bytes(std::span(&v, 1)));
}
template <class T>
T get(cpu& c, node& n, std::uint64_t offset, std::size_t i = 0) {
  T v{};
  c.mmio_read(n.device_bar(i) + offset, std::as_writable_bytes(std::span(&v, 1)));
  return v;
}

// The word that the engine leaves at the end.
std::uint32_t copy(cpu& c, node& n, std::uint64_t flag, std::uint64_t from, std::uint64_t to, std::uint32_t bytes,
                   std::size_t i = 0) {
  n.host.memory_bytes().write(flag, std::vector<std::byte>(4));
  const std::uint64_t w = c.watch(flag, 4);
  put(c, n, 0x00, from, i);
  put(c, n, 0x08, to, i);
  put(c, n, 0x10, flag, i);
  put(c, n, 0x18, bytes, i);
  EXPECT_TRUE(c.wait_write(w, 10_ms));
  c.unwatch(w);
  std::uint32_t word = 0;
  c.load(flag, std::as_writable_bytes(std::span(&word, 1)));
  return word;
}

system_config with_device(const char* engine, double stall = 0) {
  system_config c = world::two_nodes();
  c.nodes[0].device[0].implementation.name = engine;
  c.nodes[0].device[0].of_rtl.stall = stall;
  return c;
}

std::vector<std::byte> random_bytes(random_stream& r, std::size_t n) {
  std::vector<std::byte> b(n);
  for (std::byte& x : b) x = static_cast<std::byte>(r.below(256));
  return b;
}

void copies_arrive(const char* engine, double stall, std::uint64_t seed) {
  world w(with_device(engine, stall));
  const auto program = [seed](cpu& c, node& n) {
    const auto [memory, flag] = buffers(n);
    random_stream r(seed, "copies");
    std::vector<std::byte> all = random_bytes(r, 0x20'0000);
    n.host.memory_bytes().write(memory, all);
    for (int i = 0; i < 40; ++i) {
      const auto bytes = static_cast<std::uint32_t>(32 * (1 + r.below(i % 4 == 0 ? 1024 : 40)));
      const std::uint64_t from = 32 * r.below(0x8000 - 1024);
      const std::uint64_t to = 0x10'0000 + 32 * r.below(0x8000 - 1024);
      ASSERT_EQ(copy(c, n, flag, memory + from, memory + to, bytes), 1U);
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), bytes, all.begin() + static_cast<std::ptrdiff_t>(to));
    }
    std::vector<std::byte> found(all.size());
    n.host.memory_bytes().read(memory, found);
    EXPECT_EQ(found, all);
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x1c), 0U);
  };
  ASSERT_TRUE(w.run({program}));
  EXPECT_EQ(statistic_of(w.at(0).own_device(0), "register_errors"), 0);
  EXPECT_GT(statistic_of(w.at(0).own_device(0), "bursts"), 80);
}

class rtl_device_copies : public ::testing::TestWithParam<std::tuple<const char*, std::uint64_t>> {};
TEST_P(rtl_device_copies, arrive_byte_by_byte) {
  copies_arrive(std::get<0>(GetParam()), 0, std::get<1>(GetParam()));
}
TEST_P(rtl_device_copies, arrive_whatever_stalls) {
  copies_arrive(std::get<0>(GetParam()), 0.4, std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(seeds, rtl_device_copies,
                         ::testing::Combine(::testing::ValuesIn(engines), ::testing::Values<std::uint64_t>(1, 2, 3)),
                         [](const auto& of) { return std::get<0>(of.param) + ("_" + std::to_string(std::get<1>(of.param))); });

class rtl_device : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(by, rtl_device, ::testing::ValuesIn(engines),
                         [](const auto& engine) { return std::string(engine.param); });

// Words, halves of a register, and several at once; refused reads return ones.
TEST_P(rtl_device, registers_are_words) {
  world w(with_device(GetParam()));
  const auto program = [](cpu& c, node& n) {
    put<std::uint64_t>(c, n, 0x00, 0x1122'3344'5566'7788);
    EXPECT_EQ(get<std::uint64_t>(c, n, 0x00), 0x1122'3344'5566'7788U);
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x04), 0x1122'3344U);
    EXPECT_EQ(get<std::uint16_t>(c, n, 0x02), 0x5566U);
    put<std::uint8_t>(c, n, 0x03, 0xab);
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x00), 0xab66'7788U);
    put<std::uint16_t>(c, n, 0x03, 0xcdef);  // across two words
    EXPECT_EQ(get<std::uint64_t>(c, n, 0x00), 0x1122'33cd'ef66'7788U);
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x40), ~0U) << "there is no such register";
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x1c), 0U);
  };
  ASSERT_TRUE(w.run({program}));
  EXPECT_EQ(statistic_of(w.at(0).own_device(0), "register_errors"), 1);
}

TEST_P(rtl_device, an_address_that_leads_nowhere_is_an_error_of_the_bus) {
  // A write by TLPs is posted and gets no answer.
  const bool posted = std::string(GetParam()) == "my_tlp_dma";
  system_config config = with_device(GetParam());
  config.nodes[0].pcie.memory_top = std::uint64_t{1} << 48;
  world w(config);
  const auto program = [posted](cpu& c, node& n) {
    const auto [memory, flag] = buffers(n);
    EXPECT_EQ(copy(c, n, flag, memory, nowhere, 64), posted ? 1U : 3U);
    EXPECT_EQ(copy(c, n, flag, nowhere, memory, 64), 3U);
    EXPECT_EQ(copy(c, n, flag, memory + 8, memory + 0x1000, 64), 3U) << "not aligned";
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x1c), 2U);
    EXPECT_EQ(copy(c, n, flag, memory, memory + 0x1000, 64), 1U) << "and goes on";
  };
  ASSERT_TRUE(w.run({program}));
}

// `done` may be the window of interrupts: the word is the vector then.
TEST_P(rtl_device, interrupts_are_writes_into_the_window) {
  world w(with_device(GetParam()));
  const auto program = [](cpu& c, node& n) {
    const std::uint64_t memory = buffers(n).memory;
    put<std::uint64_t>(c, n, 0x00, memory);
    put<std::uint64_t>(c, n, 0x08, memory + 0x2000);
    put<std::uint64_t>(c, n, 0x10, msi_window);
    put<std::uint32_t>(c, n, 0x18, 4096);
    EXPECT_TRUE(c.wait_interrupt(1, 1_ms));
    EXPECT_EQ(get<std::uint32_t>(c, n, 0x1c), 0U);
  };
  ASSERT_TRUE(w.run({program}));
}

// A device behind an IOMMU copies the bytes of a mapped page, at an address other than the page's own. When only the other
// device has a context, it reads nothing.
void copies_behind_an_iommu(const char* engine, std::size_t mapped, std::uint32_t word, iommu_fault fault) {
  constexpr std::uint64_t seen_at = testing::io_pages::window;
  system_config config = with_device(engine);
  config.nodes[0].iommu.enabled = true;
  config.nodes[0].device[1].implementation.name = engine;
  world w(config);
  const auto program = [&](cpu& c, node& n) {
    const auto [memory, flag] = buffers(n);
    random_stream r(7, "pages");
    const std::vector<std::byte> bytes = random_bytes(r, 4096);
    n.host.memory_bytes().write(memory, bytes);
    testing::io_pages window(n, mapped);
    window.map(0, memory, testing::io_pages::both);
    window.map(1, memory + 0x8000, testing::io_pages::both);
    window.map(2, flag, testing::io_pages::both);
    window.enable(c);
    const std::uint64_t watched = c.watch(flag, 4);
    put(c, n, 0x00, seen_at);
    put(c, n, 0x08, seen_at + 0x1000);
    put(c, n, 0x10, seen_at + 0x2000);
    put<std::uint32_t>(c, n, 0x18, 4096);
    EXPECT_EQ(c.wait_write(watched, 1_ms), word != 0);
    c.unwatch(watched);
    std::uint32_t found = 0;
    c.load(flag, std::as_writable_bytes(std::span(&found, 1)));
    EXPECT_EQ(found, word);
    std::vector<std::byte> copied(4096);
    n.host.memory_bytes().read(memory + 0x8000, copied);
    EXPECT_EQ(copied == bytes, word == 1);
    std::uint64_t info = 0;
    c.mmio_read(node::iommu_base + IOMMU_REG_FAULT_INFO, std::as_writable_bytes(std::span(&info, 1)));
    EXPECT_EQ(info >> 16 & 0x7fff, static_cast<std::uint64_t>(fault));
    EXPECT_EQ(info & 0xffff, fault == IOMMU_FAULT_NONE ? 0U : node::device_requester(0));
  };
  ASSERT_TRUE(w.run({program}));
}
TEST_P(rtl_device, behind_an_iommu_its_pages_are_those_of_its_requester) {
  copies_behind_an_iommu(GetParam(), 0, 1, IOMMU_FAULT_NONE);
}
TEST_P(rtl_device, behind_an_iommu_the_pages_of_another_device_are_refused) {
  copies_behind_an_iommu(GetParam(), 1, 0, IOMMU_FAULT_CONTEXT);
}

struct misfit {
  void (*change)(node_config&);
  const char* why;
};
class rtl_device_misfits : public ::testing::TestWithParam<misfit> {};
TEST_P(rtl_device_misfits, are_refused) {
  system_config c = with_device("my_dma");
  GetParam().change(c.nodes[0]);
  try {
    world w(c);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(GetParam().why), std::string::npos) << e.what();
  }
}
INSTANTIATE_TEST_SUITE_P(of, rtl_device_misfits,
                         ::testing::Values(misfit{[](node_config& n) { n.device[0].bar = 5000; },
                                                  ".bar: is not a power of two"},
                                           misfit{[](node_config& n) { n.device[1].implementation.name = "your_dma"; },
                                                  "system.node0.device1.implementation: your_dma is none of my_dma, "
                                                  "my_tlp_dma, tlp_dma, or the path of a shared object"}));

}  // namespace
}  // namespace hcasim
