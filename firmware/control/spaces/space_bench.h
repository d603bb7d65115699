// A bench with one address space that grows.
#pragma once

#include <gtest/gtest.h>

#include "firmware/control/firmware_bench.h"

namespace hcasim::testing {

class space : public ::testing::Test {
 protected:
  static constexpr std::uint32_t rw = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;

  static hca_region any(std::uint64_t pages) {
    hca_region r = region(0, pages * page, rw);
    r.va = HCA_VA_ANY;
    return r;
  }
  static std::vector<hca_chunk> memory(std::uint64_t address, std::uint64_t pages) { return {{address, pages * page}}; }
  void add_at(std::uint64_t va, std::uint64_t pages, std::uint64_t physical, std::uint32_t flags = 0) {
    const hca_region r = region(va, pages * page, rights);
    const int status =
        key == 0 ? b.x_register(r, memory(physical, pages), flags) : b.x_reregister(key, r, memory(physical, pages), flags);
    ASSERT_EQ(status, HCA_OK);
    if (key != 0) {
      ASSERT_EQ(b.space.key, key);
    }
    key = b.space.key;
  }
  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t va) const { return b.translate(key, va); }
  void expect_nothing_left() {
    const fw_usage u = b.usage();
    EXPECT_EQ(u.mrs, 0U);
    EXPECT_EQ(u.spaces, 0U);
    EXPECT_EQ(u.segments, 0U);
    EXPECT_EQ(u.extent_lines, 0U);
    EXPECT_EQ(u.table_bytes, 0U);
  }
  firmware_bench b;
  std::uint32_t key = 0;
  std::uint32_t rights = rw;
};

}  // namespace hcasim::testing
