#include <gtest/gtest.h>

#include <chrono>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

TEST(region, entry_of_a_registered_region) {
  firmware_bench b;
  const std::uint32_t access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_MW_BIND;
  ASSERT_EQ(b.register_region(region(0x1F00, 0x300, access | 1U << 29), {{0x8000, 0x1000}, {0x6000, 0x1000}}), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  EXPECT_NE(hca_key_index(key), 0U);
  const hca_mrc m = b.mrc(key);
  EXPECT_EQ(m.kind, HCA_MRC_REGION);
  EXPECT_EQ(m.state, HCA_MRC_VALID);
  EXPECT_EQ(m.key_byte, hca_key_byte(key));
  EXPECT_EQ(m.page_shift, 12);
  EXPECT_EQ(m.levels, 1);
  EXPECT_EQ(m.flags, 0);
  EXPECT_EQ(m.function, 3);
  EXPECT_EQ(m.access, access) << "an unknown optional bit is dropped";
  EXPECT_EQ(m.pd, 5U);
  EXPECT_EQ(m.qpn, static_cast<std::uint32_t>(HCA_QPN_ANY));
  EXPECT_EQ(m.parent, 0U);
  EXPECT_EQ(m.start, 0x1F00U);
  EXPECT_EQ(m.length, 0x300U);
  EXPECT_EQ(m.table_va, 0x1000U);
  EXPECT_EQ(b.translate(key, 0x1EFF), std::nullopt);
  EXPECT_EQ(b.translate(key, 0x1F00), 0x8F00U);
  EXPECT_EQ(b.translate(key, 0x1FFF), 0x8FFFU);
  EXPECT_EQ(b.translate(key, 0x2000), 0x6000U);
  EXPECT_EQ(b.translate(key, 0x21FF), 0x61FFU);
  EXPECT_EQ(b.translate(key, 0x2200), std::nullopt);
}

// [E6] Depth is ceil(log512 N); every page is where its chunk says; nodes are as small as possible; no node is left over.
TEST(region, table_of_every_depth) {
  fw_limits l = small_limits();
  l.max_table_bytes = 16 * MiB;
  firmware_bench b(l);
  const auto bytes_of = [](std::uint64_t n) {
    std::uint64_t bytes = 0;
    do {
      const std::uint64_t rest = n % 512;
      bytes += n / 512 * 4096;
      if (rest != 0) bytes += std::max<std::uint64_t>(64, std::bit_ceil(rest * 8));
      n = (n + 511) / 512;
    } while (n > 1);
    return bytes;
  };
  for (const std::uint64_t pages : {1U, 2U, 8U, 9U, 511U, 512U, 513U, 1024U, 1025U, 5000U, 262144U, 262145U}) {
    const std::uint64_t va = 0x7f0000000000;
    ASSERT_EQ(b.register_region(region(va, pages * 4096), scattered(pages)), HCA_OK) << pages;
    const std::uint32_t key = b.command.result[0];
    EXPECT_EQ(b.mrc(key).levels, pages <= 512 ? 1 : pages <= 262144 ? 2 : 3);
    EXPECT_EQ(b.usage().table_bytes, bytes_of(pages));
    for (std::uint64_t i = 0; i < pages; i++) {
      ASSERT_EQ(b.translate(key, va + i * 4096 + 5), 0x100000000 + 2 * i * 4096 + 5) << i;
    }
    EXPECT_EQ(b.translate(key, va + pages * 4096), std::nullopt);
    ASSERT_EQ(b.deregister(key), HCA_OK);
    EXPECT_EQ(b.usage().table_bytes, 0U);
  }
}

TEST(region, first_byte_far_into_the_first_chunk) {
  firmware_bench b;
  hca_region r = region(0x5000, 0x2000);
  r.first_offset = 0x3000;
  ASSERT_EQ(b.register_region(r, {{0x100000, 0x4000}, {0x200000, 0x1000}}), HCA_OK);
  EXPECT_EQ(b.translate(b.command.result[0], 0x5000), 0x103000U);
  EXPECT_EQ(b.translate(b.command.result[0], 0x6000), 0x200000U);
  r.first_offset = 0x4000;
  EXPECT_EQ(b.register_region(r, {{0x100000, 0x4000}, {0x200000, 0x2000}}), HCA_BAD_PARAMETER) << "not in the first chunk";
}

TEST(region, zero_length_is_a_key_without_bytes) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0), {}), HCA_OK);
  EXPECT_EQ(b.translate(b.command.result[0], 0x5000), std::nullopt);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.deregister(b.command.result[0]), HCA_OK);
}

TEST(region, refusals_leave_nothing_behind) {
  firmware_bench b;
  const std::vector<hca_chunk> one{{0x8000, 0x1000}};
  const auto refused = [&](const hca_region& r, const std::vector<hca_chunk>& chunks) {
    const int status = b.register_region(r, chunks);
    EXPECT_EQ(b.usage().mrs, 0U);
    EXPECT_EQ(b.usage().table_bytes, 0U);
    return status;
  };
  EXPECT_EQ(refused(region(0x5000, 0x1000, HCA_ACCESS_REMOTE_WRITE), one), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000, HCA_ACCESS_REMOTE_ATOMIC), one), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000, 1U << 15), one), HCA_BAD_PARAMETER) << "an unknown mandatory bit";
  EXPECT_EQ(refused(region(0x5000, 0x1000, 1U << 31), one), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000, HCA_ACCESS_ON_DEMAND), one), HCA_UNSUPPORTED);
  EXPECT_EQ(refused(region(0x5000, 0x1000, HCA_ACCESS_FLUSH_GLOBAL), one), HCA_UNSUPPORTED);
  EXPECT_EQ(refused(region(0x5000, 0x1001), one), HCA_BAD_PARAMETER) << "more bytes than the chunks have";
  EXPECT_EQ(refused(region(0x5000, 0x1000), {{0x8000, 0x1000}, {0xa000, 0x1000}}), HCA_BAD_PARAMETER) << "a chunk without use";
  EXPECT_EQ(refused(region(0x5000, 0x1000), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000), {{0x8001, 0x1000}}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000), {{0x8000, 0x1800}}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000), {{0x8000, 0}}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000), {{0xfffffffffffff000, 0x1000}}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0xfffffffffffff000, 0x1000), one), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0xfffffffffffff800, 0x400), one), HCA_BAD_PARAMETER) << "the page-rounded end wraps";
  EXPECT_EQ(refused(region(0x5000, 1ULL << 63), one), HCA_BAD_PARAMETER);
  hca_region r = region(0x5000, 0x1000);
  r.first_offset = 1;
  EXPECT_EQ(refused(r, one), HCA_BAD_PARAMETER) << "VA and buffer differ in page offset";
  r = region(0x5000, 0x1000);
  r.pd = 1U << 24;
  EXPECT_EQ(refused(r, one), HCA_BAD_PARAMETER);
  r = region(0x5000, 0x1000);
  r.reserved = 1;
  EXPECT_EQ(refused(r, one), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0x5000, 0x1000, HCA_ACCESS_ZERO_BASED), one), HCA_BAD_PARAMETER);
  for (const std::uint32_t bytes : {0U, 47U, 48U, 63U, 65U, 80U}) {
    EXPECT_EQ(b.raw(HCA_CMD_REGISTER, 0, 0, bytes, 0), HCA_BAD_LENGTH);
  }
}

TEST(region, out_of_resources) {
  fw_limits l = small_limits();
  l.max_table_bytes = 8 * KiB;
  l.log_mrs = 3;
  firmware_bench b(l);
  EXPECT_EQ(b.register_region(region(0, 1025 * 4096), scattered(1025)), HCA_NO_RESOURCES);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.usage().mrs, 0U);
  for (int i = 0; i < 7; i++) ASSERT_EQ(b.register_region(region(0, 4096), scattered(1)), HCA_OK);
  EXPECT_EQ(b.register_region(region(0, 4096), scattered(1)), HCA_NO_RESOURCES);
  l.max_levels = 1;
  firmware_bench shallow(l);
  EXPECT_EQ(shallow.register_region(region(0, 513 * 4096), scattered(513)), HCA_NO_RESOURCES);
}

// Invalid in ICM, out of the cache, no access inside, translations gone: in that order.
TEST(region, deregister_in_order) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0, 0x2000), scattered(2)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const std::uint32_t index = hca_key_index(key);
  b.h.logging = true;
  ASSERT_EQ(b.deregister(key), HCA_OK);
  using op = hal::op;
  const std::vector<hal::call> expected{{op::lock, index},
                                        {op::drop, HAL_CACHE_MRC, index},
                                        {op::read, b.mrc_address(key), 64},
                                        {op::write, b.mrc_address(key), 64},
                                        {op::fence},
                                        {op::drop, HAL_CACHE_MRC, index},
                                        {op::drain, index},
                                        {op::translation_drop, index, 0, ~0ULL},
                                        {op::unlock, index}};
  EXPECT_EQ(b.h.log, expected);
  EXPECT_EQ(b.mrc(key).kind, HCA_MRC_NONE);
}

TEST(region, bound_windows_hold_it) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0, 0x1000), scattered(1)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  hca_mrc m = b.mrc(key);
  m.parent = 1;
  b.h.put(b.mrc_address(key), m);
  EXPECT_EQ(b.deregister(key), HCA_BUSY);
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD, region(0, 0)), HCA_BUSY);
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_VALID);
  m.parent = 0;
  b.h.put(b.mrc_address(key), m);
  EXPECT_EQ(b.deregister(key), HCA_OK);
}

// No access reaches the region, but the region is there: its key is taken until it is de-registered, its table is gone.
TEST(region, revoke_takes_the_memory_away_and_restore_brings_it_back) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5100, 0x5000), scattered(6)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const hca_mrc before = b.mrc(key);
  bool drained = false;
  b.h.observer = [&](const hal::call& call) {
    if (call.what == hal::op::drain) drained = b.mrc(key).state == HCA_MRC_FREE && b.usage().table_bytes != 0;
  };
  ASSERT_EQ(b.run(HCA_CMD_REVOKE, key), HCA_OK);
  EXPECT_TRUE(drained) << "the table goes only when no access uses it any more";
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_FREE);
  EXPECT_EQ(b.mrc(key).table, 0U);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.usage().mrs, 1U);
  EXPECT_TRUE(b.h.locks[hca_key_index(key)] == 0);
  EXPECT_EQ(b.run(HCA_CMD_REVOKE, key), HCA_OK) << "twice is nothing";
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD, region(0, 0)), HCA_BAD_STATE);

  EXPECT_EQ(b.restore(key, region(0x5100, 0x4000), scattered(5)), HCA_BAD_PARAMETER) << "another range";
  EXPECT_EQ(b.restore(key, region(0x5100, 0x5000), scattered(2)), HCA_BAD_PARAMETER) << "too few pages";
  EXPECT_EQ(b.usage().table_bytes, 0U);
  ASSERT_EQ(b.restore(key, region(0x5100, 0x5000, 0), scattered(6, 0x900000000)), HCA_OK);
  const hca_mrc after = b.mrc(key);
  EXPECT_EQ(after.state, HCA_MRC_VALID);
  EXPECT_EQ(after.access, before.access) << "what it may be used for does not change";
  EXPECT_EQ(after.pd, before.pd);
  EXPECT_EQ(b.translate(key, 0x5100), 0x900000100U);
  EXPECT_EQ(b.translate(key, 0x6100), 0x900002100U);
  EXPECT_EQ(b.restore(key, region(0x5100, 0x5000), scattered(6)), HCA_BAD_STATE) << "it is not revoked";
  ASSERT_EQ(b.run(HCA_CMD_REVOKE, key), HCA_OK);
  EXPECT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.usage().mrs, 0U);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.run(HCA_CMD_REVOKE, key), HCA_BAD_OBJECT);
  EXPECT_EQ(b.restore(key, region(0x5100, 0x5000), scattered(6)), HCA_BAD_OBJECT);
}

TEST(region, revoke_unbinds_its_windows_and_waits_for_those_that_go) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0, 0x1000), scattered(1)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  ASSERT_EQ(b.register_region(region(0, 0x1000), scattered(1, 0x700000000)), HCA_OK);
  const std::uint32_t other = b.command.result[0];
  std::vector<std::uint32_t> windows;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(b.run(HCA_CMD_ALLOC_MW, 5, 1 + i % 2), HCA_OK);
    windows.push_back(b.command.result[0]);
    hca_mrc w = b.mrc(windows[i]);
    w.state = HCA_MRC_VALID;
    w.parent = i == 2 ? other : key;
    b.h.put(b.mrc_address(windows[i]), w);
  }
  hca_mrc m = b.mrc(key);
  m.parent = 3;  // a window was unbound, but its last access is still under way
  b.h.put(b.mrc_address(key), m);
  std::vector<std::uint32_t> unbound;
  const auto uncount = [&] {
    hca_mrc now = b.mrc(key);
    --now.parent;
    b.h.put(b.mrc_address(key), now);
  };
  b.h.unbind = [&](std::uint32_t index, std::uint32_t of) {
    EXPECT_EQ(of, key);
    EXPECT_EQ(b.mrc(key).state, HCA_MRC_FREE) << "no new ones come";
    unbound.push_back(index);
    uncount();
  };
  int looks = 0;
  bool early = false;
  b.h.observer = [&](const hal::call& call) {
    if (call.what == hal::op::drain) early |= b.mrc(key).parent != 0;
    if (unbound.size() == 2 && call.what == hal::op::drop && ++looks == 20) uncount();
  };
  ASSERT_EQ(b.run(HCA_CMD_REVOKE, key), HCA_OK);
  EXPECT_EQ(unbound, (std::vector<std::uint32_t>{hca_key_index(windows[0]), hca_key_index(windows[1])}));
  EXPECT_GE(looks, 20) << "it waited for the last one";
  EXPECT_FALSE(early);
  EXPECT_EQ(b.mrc(other).state, HCA_MRC_VALID);
  b.h.unbind = nullptr;
  b.h.observer = nullptr;

  // A window never goes: the command says busy, and a later try succeeds.
  m = b.mrc(other);
  m.parent = 1;
  b.h.put(b.mrc_address(other), m);
  EXPECT_EQ(b.run(HCA_CMD_REVOKE, other), HCA_BUSY);
  EXPECT_NE(b.usage().table_bytes, 0U);
  m = b.mrc(other);
  m.parent = 0;
  b.h.put(b.mrc_address(other), m);
  EXPECT_EQ(b.run(HCA_CMD_REVOKE, other), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 0U);
}

TEST(region, query) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  EXPECT_EQ(b.query(HCA_CMD_QUERY_MR, key, 64), HCA_OK);
  EXPECT_EQ(b.h.get<hca_mrc>(b.out).length, 0x3000U);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_MR, key ^ 1, 64), HCA_BAD_OBJECT);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_MR, key, 63), HCA_BAD_LENGTH);
}

// A mailbox changed by software during the reading must not give unchecked entries.
TEST(region, chunks_that_change_between_the_passes) {
  fw_limits l = small_limits();
  firmware_bench b(l);
  const std::vector<hca_chunk> chunks = scattered(600);
  int reads_of_list = 0;
  b.h.observer = [&](const hal::call& c) {
    const bool begins = c.a == b.in || c.a == b.in + 48;
    if (c.what != hal::op::read || !begins) return;
    if (++reads_of_list == 2) b.h.put(b.in + 48, hca_chunk{0x5000, 0x40000000});
  };
  EXPECT_EQ(b.register_region(region(0, 600 * 4096), chunks), HCA_BAD_PARAMETER);
  EXPECT_EQ(reads_of_list, 2);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.usage().mrs, 0U);
}

TEST(region, a_terabyte_in_2_mib_pages) {
  fw_limits l = small_limits();
  l.max_table_bytes = 8 * MiB;
  firmware_bench b(l);
  const std::uint64_t pages = 524288;
  const std::vector<hca_chunk> chunks = scattered(pages, 1ULL << 44, 2 * MiB);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(b.register_region(region(1ULL << 46, pages * 2 * MiB), chunks), HCA_OK);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(b.command.result[1], 21U);
  const std::uint32_t key = b.command.result[0];
  EXPECT_EQ(b.mrc(key).levels, 3);
  EXPECT_EQ(b.h.work[HAL_WORK_ENTRY], pages + 1024 + 2);
  for (std::uint64_t i = 0; i < pages; i += 7) {
    ASSERT_EQ(b.translate(key, (1ULL << 46) + i * 2 * MiB + 9), (1ULL << 44) + 2 * i * 2 * MiB + 9);
  }
  EXPECT_LT(took.count(), 5.0) << "well under 1 s unless the machine is very busy";
  RecordProperty("seconds", std::to_string(took.count()));
  ASSERT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 0U);
}

TEST(region, a_hundred_thousand_small_regions) {
  fw_limits l = small_limits();
  l.log_mrs = 17;
  l.max_table_bytes = 8 * MiB;
  firmware_bench b(l);
  std::vector<std::uint32_t> keys;
  for (std::uint64_t i = 0; i < 100000; i++) {
    ASSERT_EQ(b.register_region(region(i << 12, 4096), {{(i + 5) << 13, 4096}}), HCA_OK);
    keys.push_back(b.command.result[0]);
  }
  EXPECT_EQ(b.usage().table_bytes, 100000U * 64);
  for (std::uint64_t i = 0; i < 100000; i++) ASSERT_EQ(b.translate(keys[i], (i << 12) + 1), ((i + 5) << 13) + 1);
  for (const std::uint32_t key : keys) ASSERT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 0U);
  EXPECT_EQ(b.usage().mrs, 0U);
}

}  // namespace
