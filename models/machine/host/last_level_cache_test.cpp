// Lines that the last-level cache holds after reads and writes of devices, and after loads and stores of cores.
#include "models/machine/host/last_level_cache.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hcasim {
namespace {

// Two sets of four ways, of which DMA writes take two. Lines 0, 2, 4, ... share a set.
last_level_cache small(std::uint32_t ddio_ways = 2) {
  return last_level_cache({.size = 512, .ways = 4, .ddio_ways = ddio_ways});
}

constexpr std::uint64_t line_of_set_0(std::uint64_t i) {
  return 128 * i;
}

TEST(last_level_cache, dma_reads_put_nothing_in) {
  last_level_cache c = small();
  EXPECT_FALSE(c.dma_read(0, 64));
  EXPECT_FALSE(c.dma_read(0, 64));
}

TEST(last_level_cache, devices_read_what_cores_and_devices_have_written) {
  last_level_cache c = small();
  EXPECT_FALSE(c.core(0, 8));
  EXPECT_FALSE(c.dma_write(64, 64));
  EXPECT_TRUE(c.dma_read(0, 128));
  EXPECT_TRUE(c.core(64, 1));
}

TEST(last_level_cache, one_missing_line_makes_a_burst_miss) {
  last_level_cache c = small();
  c.core(0, 64);
  EXPECT_FALSE(c.dma_read(63, 2));
  EXPECT_TRUE(c.dma_read(63, 1));
}

TEST(last_level_cache, dma_writes_take_their_ways_only) {
  last_level_cache c = small();
  for (std::uint64_t i = 0; i < 2; ++i) c.core(line_of_set_0(i), 64);
  for (std::uint64_t i = 2; i < 6; ++i) c.dma_write(line_of_set_0(i), 64);
  EXPECT_FALSE(c.dma_read(line_of_set_0(3), 64));
  EXPECT_TRUE(c.dma_read(line_of_set_0(4), 64));
  EXPECT_TRUE(c.dma_read(line_of_set_0(5), 64));
}

TEST(last_level_cache, a_dma_write_updates_a_line_of_any_way) {
  last_level_cache c = small(1);
  for (std::uint64_t i = 0; i < 4; ++i) c.core(line_of_set_0(i), 64);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(c.dma_write(line_of_set_0(i), 64));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(c.dma_read(line_of_set_0(i), 64));
}

TEST(last_level_cache, without_ways_for_them_dma_writes_put_nothing_in) {
  last_level_cache c = small(0);
  EXPECT_FALSE(c.dma_write(0, 64));
  EXPECT_FALSE(c.dma_read(0, 64));
}

TEST(last_level_cache, the_oldest_line_leaves) {
  last_level_cache c = small();
  for (std::uint64_t i = 0; i < 4; ++i) c.core(line_of_set_0(i), 64);
  c.core(line_of_set_0(0), 64);
  c.core(line_of_set_0(4), 64);
  EXPECT_TRUE(c.dma_read(line_of_set_0(0), 64));
  EXPECT_FALSE(c.dma_read(line_of_set_0(1), 64));
}

TEST(last_level_cache, odd_sizes_are_refused) {
  EXPECT_THROW(last_level_cache({.size = 500, .ways = 4}), std::invalid_argument);
  EXPECT_THROW(last_level_cache({.size = 512, .ways = 4, .ddio_ways = 5}), std::invalid_argument);
}

}  // namespace
}  // namespace hcasim
