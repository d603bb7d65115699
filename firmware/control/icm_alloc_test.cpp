#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

// Any sequence of takes and puts: blocks are aligned, disjoint, inside the area; all back means all free.
TEST(icm_alloc, blocks_are_disjoint_and_merge_again) {
  rc::check([] {
    fw_limits l = small_limits();
    l.max_table_bytes = 16 * 4 * KiB;
    firmware_bench b(l);
    const std::uint64_t units = l.max_table_bytes / 64;
    std::map<std::uint64_t, unsigned> taken;
    std::vector<bool> used(units);
    const auto put = [&](std::map<std::uint64_t, unsigned>::iterator it) {
      fw_icm_put(b.fw(), it->first, it->second);
      for (std::uint64_t u = 0; u < 1ULL << it->second; u++) used[(it->first - b.areas().table_base) / 64 + u] = false;
      taken.erase(it);
    };
    for (int step = 0; step < 400; step++) {
      if (*rc::gen::inRange(0, 5) < 3) {
        const auto order = *rc::gen::inRange(0U, 7U);
        std::uint64_t address = 0;
        if (!fw_icm_take(b.fw(), order, &address)) {
          for (std::uint64_t u = 0; u < units; u += 1ULL << order) {
            RC_ASSERT(std::any_of(used.begin() + static_cast<long>(u), used.begin() + static_cast<long>(u + (1ULL << order)),
                                  [](bool x) { return x; }));
          }
          continue;
        }
        const std::uint64_t unit = (address - b.areas().table_base) / 64;
        RC_ASSERT(unit % (1ULL << order) == 0U);
        RC_ASSERT(unit + (1ULL << order) <= units);
        for (std::uint64_t u = unit; u < unit + (1ULL << order); u++) {
          RC_ASSERT(!used[u]);
          used[u] = true;
        }
        taken[address] = order;
      } else if (!taken.empty()) {
        put(std::next(taken.begin(), *rc::gen::inRange<long>(0, static_cast<long>(taken.size()))));
      }
    }
    while (!taken.empty()) put(taken.begin());
    RC_ASSERT(b.usage().table_bytes == 0U);
    for (int i = 0; i < 16; i++) {
      std::uint64_t address = 0;
      RC_ASSERT(fw_icm_take(b.fw(), FW_NODE_CLASS, &address));
    }
  });
}

TEST(icm_alloc, order_of_a_node) {
  EXPECT_EQ(fw_icm_order(1), 0U);
  EXPECT_EQ(fw_icm_order(8), 0U);
  EXPECT_EQ(fw_icm_order(9), 1U);
  EXPECT_EQ(fw_icm_order(256), 5U);
  EXPECT_EQ(fw_icm_order(257), 6U);
  EXPECT_EQ(fw_icm_order(512), 6U);
}

TEST(icm_alloc, a_block_that_is_not_in_use_stops_the_adapter) {
  firmware_bench b;
  std::uint64_t address = 0;
  ASSERT_TRUE(fw_icm_take(b.fw(), 0, &address));
  fw_icm_put(b.fw(), address, 0);
  fw_icm_put(b.fw(), address, 0);
  ASSERT_EQ(b.h.events.size(), 1U);
  EXPECT_EQ(b.h.events[0].first, static_cast<std::uint32_t>(HCA_EVENT_CATASTROPHIC));
  EXPECT_EQ(b.query(HCA_CMD_QUERY_DEVICE, 0, sizeof(hca_device_info)), HCA_MEMORY_FAULT);
}

TEST(icm_alloc, a_page_that_was_never_used_has_no_block_to_give_back) {
  for (const std::uint64_t page : {0ULL, 1ULL, 15ULL, 16ULL, 1ULL << 40}) {
    fw_limits l = small_limits();
    l.max_table_bytes = 16 * 4 * KiB;
    firmware_bench b(l);
    const std::uint64_t address = b.areas().table_base + page * 4 * KiB;
    EXPECT_FALSE(fw_icm_in_use(b.fw(), address, FW_NODE_CLASS)) << page;
    fw_icm_put(b.fw(), address, FW_NODE_CLASS);
    EXPECT_EQ(b.h.events.size(), 1U) << page;
    EXPECT_EQ(b.usage().table_bytes, 0U) << page;
  }
}

TEST(icm_alloc, all_is_free_after_the_area_was_set_up_again) {
  fw_limits l = small_limits();
  l.max_table_bytes = 3 * 4 * KiB + 64;
  firmware_bench b(l);
  for (int life = 0; life < 2; life++) {
    std::vector<std::uint64_t> taken;
    std::uint64_t address = 0;
    ASSERT_TRUE(fw_icm_take(b.fw(), 0, &address));
    EXPECT_EQ(address, b.areas().table_base + 3 * 4 * KiB) << "the part of a page first";
    while (fw_icm_take(b.fw(), FW_NODE_CLASS, &address)) taken.push_back(address - b.areas().table_base);
    EXPECT_EQ(taken, (std::vector<std::uint64_t>{0, 4 * KiB, 8 * KiB}));
    ASSERT_EQ(b.run(HCA_CMD_CLOSE), HCA_OK);
    ASSERT_EQ(b.run(HCA_CMD_INIT, 0, 0, b.areas()), HCA_OK);
    EXPECT_EQ(b.usage().table_bytes, 0U);
  }
}

TEST(icm_alloc, an_area_need_not_be_whole_pages) {
  firmware_bench b(small_limits(), false);
  hca_init a = b.areas();
  a.table_bytes = 5 * 64;
  ASSERT_EQ(b.run(HCA_CMD_INIT, 0, 0, a), HCA_OK);
  std::uint64_t address = 0;
  EXPECT_TRUE(fw_icm_take(b.fw(), 2, &address));
  EXPECT_FALSE(fw_icm_take(b.fw(), 1, &address));
  EXPECT_TRUE(fw_icm_take(b.fw(), 0, &address));
  EXPECT_EQ(address, a.table_base + 4 * 64);
  EXPECT_FALSE(fw_icm_take(b.fw(), 0, &address));
}

}  // namespace
