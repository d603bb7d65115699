// Devices with their own translation cache: translation requests, translated requests, invalidations, page requests.
#include <gtest/gtest.h>

#include "models/machine/iommu/iommu_bench.h"

namespace hcasim {
namespace {

using testing::iommu_bench;
using testing::iommu_memory;
using testing::run_for;
using testing::run_until_idle;

constexpr std::uint32_t with_ats = IOMMU_CONTEXT_PRESENT | IOMMU_CONTEXT_ATS;
constexpr std::uint32_t with_pages = with_ats | IOMMU_CONTEXT_PAGES;

// ---- questions

TEST(iommu_ats, a_translation_request_gets_the_tables_translation) {
  iommu_bench b;
  b.attach(0, with_ats);
  b.map(0x5000, 0x77000);
  b.map(0x6000, 0x78000, 12, IOMMU_PTE_READ);
  b.map(0x40000000, 0x80000000, 30);
  b.map(0x200000, 0xa00000, 21);
  const ps begin = 1_us;
  auto& cold = b.device.ask(0x5000, begin);
  auto& warm = b.device.ask(0x5000, begin + 1_us);
  auto& read_only = b.device.ask(0x6000, begin + 2_us, false);
  auto& large = b.device.ask(0x40123000, begin + 3_us);
  auto& middle = b.device.ask(0x3ff000, begin + 4_us);
  auto& absent = b.device.ask(0x9000, begin + 5_us);
  auto& beyond = b.device.ask(std::uint64_t{1} << 50, begin + 6_us);
  run_until_idle();
  EXPECT_EQ(cold.word(), 0x77000U | ats_read | ats_write);
  EXPECT_EQ(cold.answered, begin + 8_ns + 5 * 80_ns) << "the context and four levels; memory is not asked for more";
  EXPECT_EQ(warm.word(), cold.word());
  EXPECT_EQ(warm.answered, begin + 1_us + 8_ns);
  EXPECT_EQ(read_only.word(), 0x78000U | ats_read);
  EXPECT_EQ(ats_shift(large.word()), 30U);
  EXPECT_EQ(ats_base(large.word()), 0x80000000U);
  EXPECT_EQ(ats_shift(middle.word()), 21U);
  EXPECT_EQ(ats_base(middle.word()), 0xa00000U);
  EXPECT_TRUE(absent.ok());
  EXPECT_EQ(absent.word(), 0U) << "no right at all is an answer, not a fault";
  EXPECT_TRUE(beyond.ok());
  EXPECT_EQ(beyond.word(), 0U);
  EXPECT_EQ(b.value("faults"), 0);
  EXPECT_EQ(b.value("translation_requests"), 7);
  EXPECT_TRUE(b.dut.idle());
}

// The IOTLB has the page for reading; a request for writing looks at the table again.
TEST(iommu_ats, a_right_granted_meanwhile_is_found) {
  iommu_bench b;
  b.attach(0, with_ats);
  b.map(0x5000, 0x77000, 12, IOMMU_PTE_READ);
  auto& first = b.device.ask(0x5000, 1_us);
  run_for(3_us);
  EXPECT_EQ(first.word(), 0x77000U | ats_read);
  b.map(0x5000, 0x77000);
  auto& reading = b.device.ask(0x5000, now(), false);
  auto& writing = b.device.ask(0x5000, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(reading.word(), 0x77000U | ats_read);
  EXPECT_EQ(writing.word(), 0x77000U | ats_read | ats_write);
}

TEST(iommu_ats, translated_requests_go_on_without_a_walk) {
  iommu_bench b;
  b.attach(0, with_ats);
  b.device.ask(0x5000, 1_us);  // the context is known
  run_for(3_us);
  const double walks = b.value("walks");
  auto& write = b.device.translated(true, 0x77010, now());
  auto& read = b.device.translated(false, 0x77010, now() + 1_us);
  const ps begin = now();
  run_until_idle();
  EXPECT_EQ(write.answered, begin + 8_ns + 80_ns);
  EXPECT_TRUE(write.ok() && read.ok());
  EXPECT_EQ(b.memory.log.back().address, 0x77010U);
  EXPECT_EQ(b.value("walks"), walks);
  EXPECT_EQ(b.value("translated"), 2);
}

TEST(iommu_ats, a_device_without_rights_is_refused) {
  iommu_bench b;
  b.attach(3, IOMMU_CONTEXT_PRESENT);
  b.attach(4, IOMMU_CONTEXT_PRESENT | IOMMU_CONTEXT_PASS | IOMMU_CONTEXT_ATS);
  b.map(0x5000, 0x77000, 12, 3, 3);
  b.memory.word(0x77000) = 0x1234;
  auto& asks = b.device.ask(0x5000, 1_us, true, 3);
  auto& writes = b.device.translated(true, 0x77000, 2_us, 3);
  auto& reads = b.device.translated(false, 0x77000, 3_us, 3);
  auto& passed = b.device.translated(true, 0x77000, 4_us, 4);
  auto& unknown = b.device.translated(true, 0x77000, 5_us, 9);
  auto& paging = b.device.message(pcie_message::page_request, 0x5000, 6_us, 0, ats_page_last, 3);
  run_until_idle();
  for (const auto* x : {&asks, &writes, &reads, &passed, &unknown, &paging}) EXPECT_FALSE(x->ok());
  EXPECT_EQ(b.memory.word(0x77000), 0x1234U);
  EXPECT_EQ(reads.word(), 0U);
  EXPECT_EQ(b.value("faults_ats"), 6);
  EXPECT_EQ(b.get(IOMMU_REG_FAULT_INFO) >> 16 & 0xff, std::uint64_t{IOMMU_FAULT_ATS});
  EXPECT_EQ(b.memory.messages.size() + b.beyond.messages.size(), 0U);
  b.set(IOMMU_REG_CONTROL, 0);
  auto& off = b.device.translated(true, 0x77000, now() + 1_us, 0);
  run_until_idle();
  EXPECT_FALSE(off.ok()) << "switched off, there is no cache that could have translated it";
}

// ---- the device's cache

TEST(iommu_ats, a_wait_ends_after_the_devices_last_writes) {
  iommu_bench b;
  b.attach(0, with_ats);
  b.map(0x5000, 0x77000);
  b.device.ask(0x5000, 1_us);
  run_for(3_us);
  b.command(IOMMU_CMD_INVALIDATE, 0x5000, 0x1000);
  b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x5000, 12));
  b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x200000, 21));
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 5);
  b.ring();
  run_for(2_us);
  ASSERT_EQ(b.beyond.messages.size(), 2U);
  EXPECT_EQ(b.beyond.messages[0].kind, pcie_message::invalidate);
  EXPECT_EQ(b.beyond.messages[0].body, ats_entry(0x5000, 12));
  EXPECT_EQ(b.beyond.messages[1].body, ats_entry(0x200000, 21));
  EXPECT_NE(b.beyond.messages[0].tag, b.beyond.messages[1].tag);
  EXPECT_EQ(b.memory.word(iommu_bench::status), 0U);
  // Its last write with the old translation, and behind it the completion.
  const std::uint16_t first = b.beyond.messages[0].tag;
  const std::uint16_t second = b.beyond.messages[1].tag;
  b.device.translated(true, 0x77000, now() + 10_ns);
  b.device.message(pcie_message::invalidate_done, 0, now() + 11_ns, second);
  b.device.message(pcie_message::invalidate_done, 0, now() + 12_ns, 31);  // not asked for
  run_for(1_us);
  EXPECT_EQ(b.memory.word(iommu_bench::status), 0U) << "one of the two is missing";
  b.device.message(pcie_message::invalidate_done, 0, now() + 10_ns, first);
  run_until_idle();
  EXPECT_EQ(b.memory.word(iommu_bench::status), 5U);
  EXPECT_EQ(b.memory.log.back().address, iommu_bench::status);
  EXPECT_TRUE(b.dut.idle());
}

// The completion stays behind a write that the IOMMU still holds.
TEST(iommu_ats, a_completion_does_not_pass_a_write_that_waits_for_its_walk) {
  iommu_bench b;
  b.attach(0, with_ats);
  b.map(0x5000, 0x77000);
  b.map(0x9000, 0x79000);
  b.device.ask(0x9000, 1_us);
  run_for(3_us);
  b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x5000, 12));
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 6);
  b.ring();
  run_for(1_us);
  const ps begin = now();
  b.device.send(true, 0x5000, begin + 10_ns);         // a walk
  b.device.translated(true, 0x77008, begin + 11_ns);  // behind it
  b.device.message(pcie_message::invalidate_done, 0, begin + 12_ns, b.beyond.messages.at(0).tag);
  run_until_idle();
  std::size_t translated = 0;
  std::size_t told = 0;
  for (std::size_t i = 0; i < b.memory.log.size(); ++i) {
    if (b.memory.log[i].address == 0x77008) translated = i;
    if (b.memory.log[i].address == iommu_bench::status) told = i;
  }
  ASSERT_GT(translated, 0U);
  EXPECT_GT(b.memory.log[translated].at, begin + 80_ns) << "it waited for the walk";
  EXPECT_GT(told, translated);
  EXPECT_GE(b.memory.log[told].at, b.memory.log[translated].at);
}

TEST(iommu_ats, more_invalidations_than_tags) {
  iommu_bench b;
  b.attach(0, with_ats);
  for (unsigned i = 0; i < 40; ++i) b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x1000 * (i + 1), 12));
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 7);
  b.device.ask(0x5000, 1_us);
  run_for(3_us);
  b.ring();
  run_for(10_us);
  EXPECT_EQ(b.beyond.messages.size(), ats_tags);
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_GT(b.beyond.messages.size(), i);
    EXPECT_EQ(ats_base(b.beyond.messages[i].body), 0x1000 * (i + 1));
    b.device.message(pcie_message::invalidate_done, 0, now() + 1_ns, b.beyond.messages[i].tag);
    run_for(1_us);
  }
  EXPECT_EQ(b.memory.word(iommu_bench::status), 7U);
  EXPECT_EQ(b.value("device_invalidations"), 40);
}

TEST(iommu_ats, a_device_that_does_not_answer_is_given_up) {
  iommu_config c;
  c.invalidation_timeout = 5_us;
  iommu_bench b(c);
  b.attach(0, with_ats);
  b.device.ask(0x5000, 1_us);
  run_for(3_us);
  b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x5000, 12));
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 8);
  b.ring();
  run_for(5_us);
  EXPECT_EQ(b.memory.word(iommu_bench::status), 0U);
  run_for(1_us);
  EXPECT_EQ(b.memory.word(iommu_bench::status), 8U | IOMMU_WAIT_TIMEOUT);
  EXPECT_EQ(b.value("faults_timeout"), 1);
  EXPECT_EQ(b.get(IOMMU_REG_FAULT_INFO) >> 16 & 0xff, std::uint64_t{IOMMU_FAULT_TIMEOUT});
  // A late answer completes no other invalidation, and frees the tag.
  b.command(IOMMU_CMD_INVALIDATE_DEVICE, ats_entry(0x6000, 12));
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 9);
  b.ring();
  run_for(1_us);
  ASSERT_EQ(b.beyond.messages.size(), 2U);
  EXPECT_NE(b.beyond.messages[0].tag, b.beyond.messages[1].tag);
  b.device.message(pcie_message::invalidate_done, 0, now() + 1_ns, b.beyond.messages[0].tag);
  run_for(1_us);
  EXPECT_EQ(b.memory.word(iommu_bench::status), 8U | IOMMU_WAIT_TIMEOUT);
  b.device.message(pcie_message::invalidate_done, 0, now() + 1_ns, b.beyond.messages[1].tag);
  run_until_idle();
  EXPECT_EQ(b.memory.word(iommu_bench::status), 9U);
}

// ---- page requests

struct paging_bench : iommu_bench {
  static constexpr std::uint64_t pages = 0x40000;
  explicit paging_bench(unsigned log) {
    attach(0, with_pages);
    set(IOMMU_REG_PAGES, pages);
    set(IOMMU_REG_PAGES_VECTOR, 9);
    set(IOMMU_REG_PAGES_SIZE, 1U << 31 | log);
    device.ask(0x5000, now() + 1_us);
    run_for(3_us);
  }
  void want(std::uint64_t page, std::uint16_t group, std::uint8_t flags = ats_page_read | ats_page_last) {
    device.message(pcie_message::page_request, page, now() + 10_ns, group, flags);
    run_for(1_us);
  }
};

TEST(iommu_ats, a_page_request_becomes_an_entry_an_interrupt_and_an_answer) {
  paging_bench b(3);
  b.want(0x5000, 17, ats_page_read | ats_page_write | ats_page_last);
  EXPECT_EQ(b.get(IOMMU_REG_PAGES_TAIL), 1U);
  EXPECT_EQ(b.memory.word(paging_bench::pages), 17ULL << 32);
  EXPECT_EQ(b.memory.word(paging_bench::pages + 8), 0x5000U);
  EXPECT_EQ(b.memory.word(paging_bench::pages + 16), 7U);
  EXPECT_EQ(b.memory.raised.size(), 1U);
  b.want(0x6000, 18);
  EXPECT_EQ(b.memory.raised.size(), 1U) << "the queue was not empty";
  b.set(IOMMU_REG_PAGES_HEAD, 2);
  b.want(0x7000, 19);
  EXPECT_EQ(b.memory.raised.size(), 2U);
  b.set(IOMMU_REG_PAGES_HEAD, 77);  // a wild value
  EXPECT_EQ(b.get(IOMMU_REG_PAGES_HEAD), 2U);
  b.command(IOMMU_CMD_PAGE_RESPONSE, 0, static_cast<std::uint64_t>(ats_response::invalid_request), 17);
  b.ring();
  run_until_idle();
  ASSERT_EQ(b.beyond.messages.size(), 1U);
  EXPECT_EQ(b.beyond.messages[0].kind, pcie_message::page_response);
  EXPECT_EQ(b.beyond.messages[0].tag, 17U);
  EXPECT_EQ(b.beyond.messages[0].code, 1U);
  EXPECT_EQ(b.value("page_requests"), 3);
}

TEST(iommu_ats, no_room_means_try_again_and_no_queue_means_failure) {
  paging_bench b(1);
  for (std::uint16_t g = 0; g < 3; ++g) b.want(0x5000 + g * 0x1000U, g);
  b.want(0x9000, 3, ats_page_read);  // not the last of its group: nothing to answer yet
  ASSERT_EQ(b.beyond.messages.size(), 1U);
  EXPECT_EQ(b.beyond.messages[0].tag, 2U);
  EXPECT_EQ(b.beyond.messages[0].code, static_cast<std::uint8_t>(ats_response::success));
  EXPECT_EQ(b.value("page_overflows"), 2);
  EXPECT_EQ(b.get(IOMMU_REG_PAGES_TAIL), 2U);
  b.set(IOMMU_REG_PAGES_SIZE, 1);
  b.want(0x5000, 5);
  ASSERT_EQ(b.beyond.messages.size(), 2U);
  EXPECT_EQ(b.beyond.messages[1].code, static_cast<std::uint8_t>(ats_response::failure));
}

}  // namespace
}  // namespace hcasim
