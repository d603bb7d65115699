// The order of keys.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

// Drawn, the same for the same seed, and never the last byte of the index.
TEST(region, key_bytes_that_are_drawn) {
  const auto bytes = [](std::uint32_t seed) {
    fw_limits l = small_limits();
    l.log_mrs = 4;
    l.flags = FW_RANDOM_KEY_BYTES;
    l.key_seed = seed;
    firmware_bench b(l);
    std::vector<std::uint8_t> drawn;
    std::map<std::uint32_t, std::uint8_t> last;
    std::set<unsigned> steps;
    for (int i = 0; i < 20000; i++) {
      EXPECT_EQ(b.register_region(region(0x1000, 4096), {{0x8000, 0x1000}}), HCA_OK);
      const std::uint32_t key = b.command.result[0];
      drawn.push_back(hca_key_byte(key));
      const auto [it, first] = last.try_emplace(hca_key_index(key), hca_key_byte(key));
      if (!first) {
        EXPECT_NE(it->second, hca_key_byte(key));
        steps.insert(HCA_U8(hca_key_byte(key) - it->second));
        it->second = hca_key_byte(key);
      }
      EXPECT_EQ(b.deregister(key), HCA_OK);
    }
    EXPECT_EQ(steps.size(), 255U);
    return drawn;
  };
  const auto one = bytes(1);
  EXPECT_EQ(bytes(1), one);
  EXPECT_NE(bytes(2), one);
}

// The byte of an index is never its last one, and an index comes back late.
TEST(region, key_bytes) {
  firmware_bench b;
  std::map<std::uint32_t, std::uint8_t> last;
  std::uint32_t previous = 0;
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 255 * 20; i++) {
    ASSERT_EQ(b.register_region(region(0, 4096), scattered(1)), HCA_OK);
    const std::uint32_t key = b.command.result[0];
    EXPECT_NE(hca_key_index(key), hca_key_index(previous));
    EXPECT_TRUE(keys.insert(key).second) << "a key came back before all others of its index had their turn";
    const auto it = last.find(hca_key_index(key));
    if (it != last.end()) {
      EXPECT_EQ(hca_key_byte(key), HCA_U8(it->second + 1U));
    }
    last[hca_key_index(key)] = hca_key_byte(key);
    ASSERT_EQ(b.deregister(key), HCA_OK);
    EXPECT_EQ(b.mrc(key).state, HCA_MRC_INVALID);
    EXPECT_EQ(b.mrc(key).key_byte, hca_key_byte(key));
    EXPECT_EQ(b.deregister(key), HCA_BAD_OBJECT);
    previous = key;
  }
}

}  // namespace
