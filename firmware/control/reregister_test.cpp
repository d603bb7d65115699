// A region changes in place, or under a new key.
#include <gtest/gtest.h>

#include <set>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

TEST(region, reregister_keeps_the_key) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  for (std::uint32_t flags = 1; flags < 8; flags++) {
    const hca_mrc old = b.mrc(key);
    hca_region r = region(0x40000 + 0x10000 * flags, 0x1000 * flags, HCA_ACCESS_LOCAL_WRITE | (flags & 1 ? 2U : 4U));
    r.pd = 100 + flags;
    const bool moves = (flags & HCA_REREG_TRANSLATION) != 0;
    ASSERT_EQ(b.reregister(key, flags, r, moves ? scattered(flags, 0x900000000) : std::vector<hca_chunk>{}), HCA_OK) << flags;
    EXPECT_EQ(b.command.result[0], key);
    const hca_mrc m = b.mrc(key);
    EXPECT_EQ(m.state, HCA_MRC_VALID);
    EXPECT_EQ(m.key_byte, hca_key_byte(key));
    EXPECT_EQ(m.pd, flags & HCA_REREG_PD ? r.pd : old.pd);
    EXPECT_EQ(m.access, flags & HCA_REREG_ACCESS ? r.access : old.access);
    EXPECT_EQ(m.start, moves ? r.va : old.start);
    EXPECT_EQ(m.length, moves ? r.length : old.length);
    if (moves) {
      EXPECT_EQ(b.translate(key, r.va + r.length - 1), 0x900000000 + 2 * 0x1000 * (flags - 1) + 0xfff);
    }
    EXPECT_EQ(b.usage().table_bytes, 64U);
  }
}

// An access sees the old region, an invalid key or the new region; the old table stays until no access uses it.
TEST(region, reregister_is_never_a_mixture) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const hca_mrc old = b.mrc(key);
  hca_region r = region(0x9000, 0x2000, HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE);
  r.pd = 77;
  bool drained = false;
  int invalid = 0;
  b.h.observer = [&](const hal::call& c) {
    const hca_mrc m = b.mrc(key);
    if (c.what == hal::op::drain) drained = true;
    if (m.state == HCA_MRC_INVALID) {
      invalid++;
    } else if (m.pd == old.pd) {
      EXPECT_EQ(std::memcmp(&m, &old, sizeof m), 0);
    } else {
      EXPECT_TRUE(drained);
      EXPECT_EQ(m.pd, 77U);
      EXPECT_EQ(m.start, 0x9000U);
      EXPECT_EQ(b.translate(m, 0x9000), 0x900000000U);
    }
    if (!drained) {
      EXPECT_EQ(b.translate(old, 0x7fff), 0x100004fffU);
    }
  };
  EXPECT_EQ(b.reregister(key, 7, r, scattered(2, 0x900000000)), HCA_OK);
  EXPECT_TRUE(drained);
  EXPECT_GT(invalid, 0);
}

TEST(region, reregister_under_a_new_key) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  std::uint32_t key = b.command.result[0];
  std::set<std::uint32_t> keys{key};
  for (std::uint32_t i = 0; i < 70; i++) {
    const std::uint32_t flags = 1 + i % 7;
    const hca_mrc old = b.mrc(key);
    hca_region r = region(0x40000 + 0x10000 * flags, 0x1000 * flags, HCA_ACCESS_LOCAL_WRITE | (flags & 1 ? 2U : 4U));
    r.pd = 100 + flags;
    const bool moves = (flags & HCA_REREG_TRANSLATION) != 0;
    ASSERT_EQ(b.reregister(key, flags | HCA_REREG_RENEW, r, moves ? scattered(flags, 0x900000000) : std::vector<hca_chunk>{}),
              HCA_OK)
        << flags;
    const std::uint32_t fresh = b.command.result[0];
    EXPECT_TRUE(keys.insert(fresh).second) << "a key that was given away comes back";
    EXPECT_NE(hca_key_index(fresh), hca_key_index(key));
    EXPECT_EQ(b.mrc(key).state, HCA_MRC_INVALID);
    EXPECT_EQ(b.mrc(key).key_byte, hca_key_byte(key)) << "the next owner of the index needs it";
    EXPECT_EQ(b.deregister(key), HCA_BAD_OBJECT);
    EXPECT_EQ(b.reregister(key, flags, r), HCA_BAD_OBJECT);
    const hca_mrc m = b.mrc(fresh);
    EXPECT_EQ(m.state, HCA_MRC_VALID);
    EXPECT_EQ(m.key_byte, hca_key_byte(fresh));
    EXPECT_EQ(m.pd, flags & HCA_REREG_PD ? r.pd : old.pd);
    EXPECT_EQ(m.access, flags & HCA_REREG_ACCESS ? r.access : old.access);
    EXPECT_EQ(m.start, moves ? r.va : old.start);
    if (moves) {
      EXPECT_EQ(b.translate(fresh, r.va + r.length - 1), 0x900000000 + 2 * 0x1000 * (flags - 1) + 0xfff);
    }
    EXPECT_EQ(b.usage().mrs, 1U);
    EXPECT_EQ(b.usage().table_bytes, 64U);
    key = fresh;
  }
}

// At every moment a complete region exists, and the old key is dead and drained before its table goes.
TEST(region, reregister_under_a_new_key_is_never_a_mixture) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const hca_mrc old = b.mrc(key);
  bool drained = false;
  b.h.observer = [&](const hal::call& c) {
    const hca_mrc m = b.mrc(key);
    if (m.state == HCA_MRC_VALID) {
      EXPECT_EQ(std::memcmp(&m, &old, sizeof m), 0);
    }
    if (c.what == hal::op::drain) {
      EXPECT_EQ(m.state, HCA_MRC_INVALID);
      drained = true;
    }
    if (!drained) {
      EXPECT_EQ(b.translate(old, 0x7fff), 0x100004fffU);
    }
  };
  EXPECT_EQ(b.reregister(key, 7 | HCA_REREG_RENEW, region(0x9000, 0x2000), scattered(2, 0x900000000)), HCA_OK);
  EXPECT_TRUE(drained);
}

// No memory for the new table, or no index for the new key: the region and its key are unchanged.
TEST(region, reregister_under_a_new_key_that_fails_changes_nothing) {
  fw_limits l = small_limits();
  l.max_table_bytes = 8 * KiB;
  firmware_bench b(l);
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const hca_mrc old = b.mrc(key);
  const auto unchanged = [&] {
    const hca_mrc now = b.mrc(key);
    EXPECT_EQ(std::memcmp(&now, &old, sizeof now), 0);
    EXPECT_EQ(b.translate(key, 0x7fff), 0x100004fffU);
    EXPECT_EQ(b.usage().table_bytes, 64U);
  };
  const std::uint32_t translation = HCA_REREG_TRANSLATION | HCA_REREG_RENEW;
  EXPECT_EQ(b.reregister(key, translation, region(0, 1024 * 4096), scattered(1024)), HCA_NO_RESOURCES);
  unchanged();
  EXPECT_EQ(b.usage().mrs, 1U);
  std::vector<std::uint32_t> others;
  while (b.run(HCA_CMD_ALLOC_NULL, 5) == HCA_OK) others.push_back(b.command.result[0]);
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD | HCA_REREG_RENEW, region(0, 0)), HCA_NO_RESOURCES);
  unchanged();
  ASSERT_FALSE(others.empty());
  EXPECT_EQ(b.deregister(others.back()), HCA_OK);
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD | HCA_REREG_RENEW, region(0, 0)), HCA_OK);
}

TEST(region, reregister_refusals_leave_the_region_intact) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  const hca_mrc old = b.mrc(key);
  const auto refused = [&](std::uint32_t k, std::uint32_t flags, const hca_region& r, const std::vector<hca_chunk>& c = {}) {
    const int status = b.reregister(k, flags, r, c);
    const hca_mrc now = b.mrc(key);
    EXPECT_EQ(std::memcmp(&now, &old, sizeof now), 0);
    return status;
  };
  hca_region r = region(0, 0x1000);
  EXPECT_EQ(refused(key, 0, r), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(key, HCA_REREG_RENEW, r), HCA_BAD_PARAMETER) << "nothing is to change";
  EXPECT_EQ(refused(key, 16, r), HCA_UNSUPPORTED);
  EXPECT_EQ(refused(key ^ 1, HCA_REREG_PD, r), HCA_BAD_OBJECT);
  EXPECT_EQ(refused(key + 256, HCA_REREG_PD, r), HCA_BAD_OBJECT);
  EXPECT_EQ(refused(0, HCA_REREG_PD, r), HCA_BAD_OBJECT);
  EXPECT_EQ(refused(key, HCA_REREG_PD, r, scattered(1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(key, HCA_REREG_TRANSLATION, region(0, 0)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(key, HCA_REREG_TRANSLATION, r, scattered(2)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(key, HCA_REREG_ACCESS, region(0, 0, HCA_ACCESS_REMOTE_WRITE)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(key, HCA_REREG_ACCESS, region(0, 0, HCA_ACCESS_ZERO_BASED)), HCA_BAD_PARAMETER);
  r.pd = 1U << 24;
  EXPECT_EQ(refused(key, HCA_REREG_PD, r), HCA_BAD_PARAMETER);
}

// A re-register that fails after revoking the old entry leaves an invalid region, which can only be de-registered.
TEST(region, reregister_that_fails_late) {
  fw_limits l = small_limits();
  l.max_table_bytes = 8 * KiB;
  firmware_bench b(l);
  ASSERT_EQ(b.register_region(region(0x5000, 0x3000), scattered(3)), HCA_OK);
  const std::uint32_t key = b.command.result[0];
  EXPECT_EQ(b.reregister(key, HCA_REREG_TRANSLATION, region(0, 1024 * 4096), scattered(1024)), HCA_NO_RESOURCES);
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_INVALID);
  EXPECT_EQ(b.usage().table_bytes, 64U);
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD, region(0, 0)), HCA_BAD_STATE);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_MR, key, 64), HCA_OK);
  EXPECT_EQ(b.deregister(key), HCA_OK);
  EXPECT_EQ(b.usage().table_bytes, 0U);
}

}  // namespace
