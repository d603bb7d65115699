// On-demand regions [E9]: tables empty at first, pages in and out, the order of a zap.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

constexpr std::uint32_t paged_rights = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_ON_DEMAND;

fw_limits with_paging() {
  fw_limits l = small_limits();
  l.flags |= FW_ON_DEMAND;
  return l;
}

struct lazy_bench : firmware_bench {
  lazy_bench() : firmware_bench(with_paging()) {}
  std::uint32_t make(std::uint64_t va, std::uint64_t length) {
    EXPECT_EQ(register_region(region(va, length, paged_rights), {}), HCA_OK);
    return command.result[0];
  }
  int fill(std::uint32_t key, std::uint64_t va, const std::vector<hca_pte>& entries) {
    return run(HCA_CMD_FILL_PAGES, key, 0, hca_pages{va, entries.size()}, entries);
  }
  int zap(std::uint32_t key, std::uint64_t va, std::uint64_t count) {
    return run(HCA_CMD_ZAP_PAGES, key, 0, hca_pages{va, count});
  }
};

TEST(on_demand_firmware, begins_empty_and_leaves_nothing) {
  lazy_bench b;
  const std::uint32_t key = b.make(0x12345, 0x800000);
  const hca_mrc m = b.mrc(key);
  EXPECT_EQ(m.flags, HCA_MRC_ON_DEMAND);
  EXPECT_EQ(m.kind, HCA_MRC_REGION);
  EXPECT_EQ(m.access, paged_rights & ~std::uint32_t{HCA_ACCESS_ON_DEMAND});
  EXPECT_EQ(m.table_va, 0x12000U);
  EXPECT_EQ(m.levels, 2);
  EXPECT_EQ(b.translate(key, 0x12345), std::nullopt);
  ASSERT_EQ(b.fill(key, 0x12000, {0x7000 | HCA_PTE_PRESENT, 0, 0x9000 | HCA_PTE_PRESENT | HCA_PTE_READ_ONLY}), HCA_OK);
  EXPECT_EQ(b.translate(key, 0x12345), 0x7345U);
  EXPECT_EQ(b.translate(key, 0x13000), std::nullopt);
  EXPECT_EQ(b.translate(key, 0x14010), 0x9010U);
  EXPECT_EQ(b.h.pages, std::vector<enum hal_pages>{HAL_PAGES_READY});
  EXPECT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.h.pages.size(), 2U) << "those that wait are told";
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.usage().mrs, 0U);
}

TEST(on_demand_firmware, pages_of_the_whole_address_space) {
  lazy_bench b;
  const std::uint32_t key = b.make(0, std::uint64_t{1} << 48);
  EXPECT_EQ(b.mrc(key).levels, 4);
  for (const std::uint64_t va : {std::uint64_t{0}, std::uint64_t{0x7fff'ffff'f000}, std::uint64_t{0xffff'ffff'f000}}) {
    ASSERT_EQ(b.fill(key, va, {(va ^ 0x1000) | HCA_PTE_PRESENT}), HCA_OK);
    EXPECT_EQ(b.translate(key, va + 5), (va ^ 0x1000) + 5);
  }
  EXPECT_EQ(b.zap(key, 0, std::uint64_t{1} << 36), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 4096U) << "the root alone";
}

TEST(on_demand_firmware, refuses_impossible_requests) {
  lazy_bench b;
  EXPECT_EQ(b.register_region(region(0x1000, 0, paged_rights), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.register_region(region(0x1000, (std::uint64_t{1} << 48) + 1, paged_rights), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.register_region(region(0x1000, 0x1000, paged_rights), {{0x5000, 0x1000}}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.register_region(region(0x1000, 0x1000, paged_rights | HCA_ACCESS_MW_BIND), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.register_region(region(0, 0x1000, paged_rights | HCA_ACCESS_ZERO_BASED), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.register_region(region(0x1000, 0x1000, HCA_ACCESS_ON_DEMAND | HCA_ACCESS_REMOTE_WRITE), {}), HCA_BAD_PARAMETER);
  firmware_bench without;
  EXPECT_EQ(without.register_region(region(0x1000, 0x1000, paged_rights), {}), HCA_UNSUPPORTED);
  const std::uint32_t key = b.make(0x10000, 0x4000);
  EXPECT_EQ(b.fill(key, 0xf000, {0x5001}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.fill(key, 0x14000, {0x5001}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.fill(key, 0x13000, {0x5001, 0x6001}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.fill(key, 0x10008, {0x5001}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.fill(key, 0x10000, {0x5005}), HCA_BAD_PARAMETER) << "an unknown bit";
  EXPECT_EQ(b.fill(key, 0x10000, {0x5000}), HCA_BAD_PARAMETER) << "not present";
  EXPECT_EQ(b.fill(key, 0x10000, {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.zap(key, 0x10000, 5), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.run(HCA_CMD_REFUSE_FAULT, key, 2, hca_pages{0x10000, 1}), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.run(HCA_CMD_REFUSE_FAULT, key, 1, hca_pages{0x10000, 1}), HCA_OK);
  EXPECT_EQ(b.h.pages.back(), HAL_PAGES_READ_ONLY);
  EXPECT_EQ(b.reregister(key, HCA_REREG_ACCESS, region(0, 0, HCA_ACCESS_LOCAL_WRITE)), HCA_UNSUPPORTED);
  ASSERT_EQ(b.register_region(region(0x20000, 0x1000), {{0x5000, 0x1000}}), HCA_OK);
  const std::uint32_t pinned = b.command.result[0];
  EXPECT_EQ(b.fill(pinned, 0x20000, {0x5001}), HCA_BAD_OBJECT);
  EXPECT_EQ(b.zap(pinned, 0x20000, 1), HCA_BAD_OBJECT);
}

// The entry goes from memory first, then from the caches; then accesses are waited for.
TEST(on_demand_firmware, zap_fences) {
  lazy_bench b;
  const std::uint32_t key = b.make(0x10000, 0x4000);
  ASSERT_EQ(b.fill(key, 0x10000, {0x5001, 0x6001}), HCA_OK);
  std::vector<hal::op> order;
  bool present_at_drop = true;
  b.h.observer = [&](const hal::call& c) {
    if (c.what == hal::op::translation_drop) present_at_drop = b.translate(key, 0x11000).has_value();
    if (c.what != hal::op::read) order.push_back(c.what);
  };
  ASSERT_EQ(b.zap(key, 0x11000, 1), HCA_OK);
  b.h.observer = nullptr;
  EXPECT_FALSE(present_at_drop);
  const std::vector<hal::op> tail(order.end() - 4, order.end());
  EXPECT_EQ(tail, (std::vector<hal::op>{hal::op::fence, hal::op::translation_drop, hal::op::drain, hal::op::unlock}));
  EXPECT_EQ(b.translate(key, 0x10000), 0x5000U) << "the others stay";
}

// Random pages in and out of a large region agree with a reference map; no node is lost.
TEST(on_demand_firmware, agrees_with_a_reference) {
  lazy_bench b;
  const std::uint64_t base = 0x40000000;
  const std::uint32_t key = b.make(base, 5000 * page);
  std::map<std::uint64_t, std::uint64_t> reference;
  std::mt19937_64 random(3);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t first = random() % 4990;
    const std::uint64_t count = 1 + random() % std::min<std::uint64_t>(700, 5000 - first);
    if (random() % 3 != 0) {
      std::vector<hca_pte> entries;
      for (std::uint64_t p = 0; p < std::min<std::uint64_t>(count, HCA_FILL_PAGES); ++p) {
        const bool skip = random() % 5 == 0;
        const std::uint64_t frame = (1 + random() % 100000) * page;
        entries.push_back(skip ? 0 : frame | HCA_PTE_PRESENT);
        if (!skip) reference[first + p] = frame;
      }
      ASSERT_EQ(b.fill(key, base + first * page, entries), HCA_OK);
    } else {
      ASSERT_EQ(b.zap(key, base + first * page, count), HCA_OK);
      reference.erase(reference.lower_bound(first), reference.lower_bound(first + count));
    }
    for (int look = 0; look < 20; ++look) {
      const std::uint64_t p = random() % 5000;
      const auto found = b.translate(key, base + p * page);
      const auto wanted = reference.find(p);
      ASSERT_EQ(found.has_value(), wanted != reference.end()) << p;
      if (found) {
        ASSERT_EQ(*found, wanted->second);
      }
    }
  }
  EXPECT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 0U);
}

}  // namespace
