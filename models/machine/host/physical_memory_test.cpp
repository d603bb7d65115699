#include "models/machine/host/physical_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace hcasim {
namespace {

std::vector<std::byte> bytes_of(std::size_t n, unsigned seed) {
  std::vector<std::byte> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(seed + 31 * i);
  return v;
}

TEST(physical_memory, untouched_reads_zero_and_takes_no_room) {
  physical_memory m;
  std::vector<std::byte> v(10000, std::byte{1});
  m.read(0xdead'beef'0000'0000, v);
  EXPECT_EQ(std::count(v.begin(), v.end(), std::byte{0}), 10000);
  EXPECT_EQ(m.resident_bytes(), 0u);
  m.put<std::uint8_t>(~0ULL, 7);
  EXPECT_EQ(m.resident_bytes(), 4096u);
  EXPECT_EQ(m.get<std::uint8_t>(~0ULL), 7);
}

TEST(physical_memory, equals_a_map_of_bytes) {
  rc::check("sparse = map", [] {
    physical_memory m;
    std::map<std::uint64_t, std::byte> reference;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      // Few places far apart, so that accesses meet: below 4 KiB and 2 MiB borders, over 2^48, around 2^64.
      const std::uint64_t base = *rc::gen::element<std::uint64_t>(0, 0x1ff000, 0x2'0000'0000'0000, ~0ULL - 0xfff);
      const std::uint64_t address = base + *rc::gen::inRange<std::uint64_t>(0, 6000);
      const auto n = *rc::gen::inRange<std::size_t>(0, 9000);
      if (*rc::gen::inRange(0, 3)) {
        const auto v = bytes_of(n, static_cast<unsigned>(i));
        m.write(address, v);
        for (std::size_t k = 0; k < n; ++k) reference[address + k] = v[k];
      } else if (*rc::gen::inRange(0, 4) == 0) {
        m.discard(address, n);
        for (std::uint64_t g = align_up(address, 4096); g - address + 4096 <= n; g += 4096) {
          for (std::uint64_t k = 0; k < 4096; ++k) reference.erase(g + k);
        }
      } else {
        std::vector<std::byte> got(n, std::byte{0xee});
        m.read(address, got);
        for (std::size_t k = 0; k < n; ++k) {
          const auto it = reference.find(address + k);
          RC_ASSERT(got[k] == (it == reference.end() ? std::byte{0} : it->second));
        }
      }
    }
  });
}

TEST(physical_memory, many_regions) {
  physical_memory m;
  for (std::uint64_t i = 0; i < 5000; ++i) m.put(i * 0x1234'5678'9000 + 8, i);
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(m.get<std::uint64_t>(i * 0x1234'5678'9000 + 8), i);
  EXPECT_EQ(m.resident_bytes(), 5000u * 4096);
}

TEST(physical_memory, discarded_granules_are_reused_clean) {
  physical_memory m;
  m.put<std::uint64_t>(0x1000, 1);
  m.put<std::uint64_t>(0x1ff8, 2);
  m.discard(0x1000, 4095);
  EXPECT_EQ(m.get<std::uint64_t>(0x1000), 1u);  // not a whole granule
  m.discard(0x1000, 4096);
  EXPECT_EQ(m.resident_bytes(), 0u);
  m.put<std::uint8_t>(0x9000, 3);
  EXPECT_EQ(m.get<std::uint64_t>(0x9ff8), 0u);
}

TEST(physical_memory, timed_readers_see_stores_when_they_are_made) {
  physical_memory m;
  const auto a = bytes_of(200, 1);
  const auto b = bytes_of(8, 99);
  m.store_at(100_ps, 0_ps, 0x1000, a);
  m.store_at(50_ps, 0_ps, 0x1010, b);  // another thread, earlier
  std::vector<std::byte> v(200);
  m.read_at(49_ps, 0x1000, v);
  EXPECT_EQ(v, std::vector<std::byte>(200));
  m.read(0x1000, v);  // untimed: all of it, in the order of time
  EXPECT_EQ(v, a);
  m.read_at(50_ps, 0x1000, v);
  EXPECT_EQ(v[0x10], b[0]);
  EXPECT_EQ(v[0], std::byte{0});
  m.read_at(100_ps, 0x1000, v);
  EXPECT_EQ(v, a);
}

TEST(physical_memory, untimed_reads_overlay_stores_at_any_offset) {
  rc::check("overlay = applied", [] {
    physical_memory buffered;
    physical_memory plain;
    const int stores = *rc::gen::inRange(1, 8);
    for (int i = 0; i < stores; ++i) {
      const auto address = *rc::gen::inRange<std::uint64_t>(0x1f00, 0x2100);
      const auto v = bytes_of(*rc::gen::inRange<std::size_t>(1, 150), static_cast<unsigned>(i));
      buffered.store_at(ps(i + 1), 0_ps, address, v);
      plain.write(address, v);
    }
    const auto from = *rc::gen::inRange<std::uint64_t>(0x1e80, 0x2100);
    std::vector<std::byte> x(*rc::gen::inRange<std::size_t>(1, 300));
    std::vector<std::byte> y(x.size());
    buffered.read(from, x);
    plain.read(from, y);
    RC_ASSERT(x == y);
  });
}

TEST(physical_memory, an_untimed_write_is_newer_than_stores_before_it) {
  physical_memory m;
  m.store_at(100_ps, 0_ps, 0x1000, bytes_of(8, 1));
  m.put<std::uint64_t>(0x1000, 5);
  std::uint64_t v = 0;
  m.read_at(200_ps, 0x1000, std::as_writable_bytes(std::span(&v, 1)));
  EXPECT_EQ(v, 5u);
}

TEST(physical_memory, a_long_run_of_buffered_stores_stays_in_order) {
  physical_memory m;
  std::uint64_t v = 0;
  for (std::uint64_t i = 1; i < 3000; ++i) {
    m.store_at(ps(static_cast<std::int64_t>(10 * i + 25)), ps(static_cast<std::int64_t>(10 * i)), 0x40,
               std::as_bytes(std::span(&i, 1)));
    m.read_at(ps(static_cast<std::int64_t>(10 * i + 5)), 0x40, std::as_writable_bytes(std::span(&v, 1)));
    ASSERT_EQ(v, i < 3 ? 0 : i - 2);
  }
}

TEST(physical_memory, reserved_addresses_are_distinct_and_aligned) {
  physical_memory m;
  const std::uint64_t a = m.reserve(100, 4096);
  const std::uint64_t b = m.reserve(2_MiB, 2_MiB);
  EXPECT_EQ(a, physical_memory::first_address);
  EXPECT_GE(b, a + 4096);
  EXPECT_EQ(b % 2_MiB, 0u);
  EXPECT_EQ(m.reserve(0, 4096), 0u);
  EXPECT_EQ(m.reserve(physical_memory::end_address, 4096), 0u);
}

}  // namespace
}  // namespace hcasim
