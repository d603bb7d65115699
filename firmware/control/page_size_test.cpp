#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "firmware/control/firmware_bench.h"
#include "firmware/control/state.h"

using namespace hcasim::testing;

namespace {

constexpr unsigned shifts[] = {12, 16, 21, 30};

// [E3] word for word, over the merged chunks. va: of the first byte; offset: of that byte in the first chunk.
unsigned by_definition(std::uint32_t supported, std::uint64_t va, std::uint64_t offset, std::uint64_t length,
                       const std::vector<hca_chunk>& chunks) {
  std::vector<hca_chunk> merged;
  for (const hca_chunk& c : chunks) {
    if (!merged.empty() && merged.back().address + merged.back().length == c.address) {
      merged.back().length += c.length;
    } else {
      merged.push_back(c);
    }
  }
  const auto entries = [&](unsigned s) {
    const std::uint64_t bytes = 1ULL << s;
    const std::uint64_t first = va / bytes * bytes;
    return ((va + length + bytes - 1) / bytes * bytes - first) / bytes;
  };
  std::vector<unsigned> fitting;
  for (const unsigned s : shifts) {
    if ((supported >> s & 1) == 0) continue;
    const std::uint64_t low = (1ULL << s) - 1;
    bool fits = true;
    std::uint64_t at = va - offset;
    for (std::size_t i = 0; i < merged.size(); i++) {
      fits = fits && ((merged[i].address ^ at) & low) == 0;
      if (i != 0) fits = fits && (merged[i].address & low) == 0;
      if (i + 1 != merged.size()) fits = fits && ((merged[i].address + merged[i].length) & low) == 0;
      at += merged[i].length;
    }
    if (fits) fitting.push_back(s);
  }
  if (fitting.empty()) return 0;
  for (const unsigned s : fitting) {
    if (entries(s) == entries(fitting.back())) return s;
  }
  return 0;
}

TEST(page_size, every_combination_of_alignments_and_lengths) {
  fw_limits l = small_limits();
  l.max_table_bytes = 64 * MiB;
  firmware_bench b(l);
  const std::uint64_t starts[] = {0, 4 * KiB, 60 * KiB, 64 * KiB, 2 * MiB - 64 * KiB, 2 * MiB - 4 * KiB};
  const std::uint64_t lengths[] = {4 * KiB, 64 * KiB, 2 * MiB - 4 * KiB, 2 * MiB, 4 * MiB + 64 * KiB};
  const std::uint64_t gaps[] = {0, 4 * KiB, 64 * KiB, 2 * MiB};
  int seen[32] = {};
  const auto check = [&](std::uint64_t va, std::uint64_t length, const std::vector<hca_chunk>& chunks) {
    ASSERT_EQ(b.register_region(region(va, length), chunks), HCA_OK);
    const unsigned expected = by_definition(l.page_shifts, va, va % 4096, length, chunks);
    ASSERT_EQ(b.command.result[1], expected) << std::hex << va << " +" << length;
    seen[expected]++;
    const std::uint32_t key = b.command.result[0];
    const std::uint64_t lead = chunks[0].length - va % 4096;
    EXPECT_EQ(b.translate(key, va), chunks[0].address + va % 4096);
    EXPECT_EQ(b.translate(key, va + length - 1),
              length <= lead ? chunks[0].address + va % 4096 + length - 1 : chunks[1].address + length - 1 - lead);
    ASSERT_EQ(b.deregister(key), HCA_OK);
  };
  for (const std::uint64_t va : starts) {
    for (const std::uint64_t dma : starts) {
      for (const std::uint64_t first : lengths) {
        for (const std::uint64_t odd : {0U, 0x123U}) check(GiB + va + odd, first - odd - 1, {{4 * GiB + dma, first}});
        for (const std::uint64_t gap : gaps) {
          for (const std::uint64_t second : lengths) {
            check(GiB + va, first + second, {{4 * GiB + dma, first}, {4 * GiB + dma + first + gap, second}});
          }
        }
      }
    }
  }
  EXPECT_GT(seen[12], 100);
  EXPECT_GT(seen[16], 20);
  EXPECT_GT(seen[21], 10);
}

TEST(page_size, random_chunks_against_the_definition) {
  rc::check([] {
    fw_limits l = small_limits();
    l.page_shifts =
        1U << 12 | (*rc::gen::inRange(0U, 8U) & 1 ? 1U << 16 : 0) | (*rc::gen::inRange(0U, 2U) ? 1U << 21 : 0) | 1U << 30;
    firmware_bench b(l, true);
    std::vector<hca_chunk> chunks;
    const unsigned n = *rc::gen::inRange(1U, 6U);
    std::uint64_t total = 0;
    for (unsigned i = 0; i < n; i++) {
      const unsigned s = *rc::gen::element(12U, 16U, 21U);
      std::uint64_t address = *rc::gen::inRange<std::uint64_t>(1, 4000) << s;
      if (i != 0 && *rc::gen::inRange(0, 2) == 0) address = chunks.back().address + chunks.back().length;
      chunks.push_back({address, *rc::gen::inRange<std::uint64_t>(1, 20) << s});
      total += chunks.back().length;
    }
    const unsigned s = *rc::gen::element(12U, 16U, 21U, 30U);
    std::uint64_t va = *rc::gen::inRange<std::uint64_t>(1, 1000) << s;
    if (*rc::gen::inRange(0, 2) == 0) va += chunks[0].address % GiB;
    const std::uint64_t offset = *rc::gen::inRange<std::uint64_t>(0, 4096);
    va += offset;
    const std::uint64_t length =
        total - offset - *rc::gen::inRange<std::uint64_t>(0, std::min<std::uint64_t>(4096 - offset, 4096));
    RC_PRE(length > 0U);
    const int status = b.register_region(region(va, length), chunks);
    RC_ASSERT(status == HCA_OK);
    RC_ASSERT(b.command.result[1] == by_definition(l.page_shifts, va, offset, length, chunks));
  });
}

TEST(page_size, a_gigabyte_page) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(GiB, 2 * GiB), {{8 * GiB, 2 * GiB}}), HCA_OK);
  EXPECT_EQ(b.command.result[1], 30U);
  EXPECT_EQ(b.translate(b.command.result[0], 3 * GiB - 8), 10 * GiB - 8);
  EXPECT_EQ(b.usage().table_bytes, 64U);
}

// Contiguous 2 MiB whose VA is off by one small page falls back to small pages.
TEST(page_size, va_must_agree_with_dma_address) {
  firmware_bench b;
  ASSERT_EQ(b.register_region(region(GiB + 4 * KiB, 2 * MiB), {{8 * GiB, 2 * MiB}}), HCA_OK);
  EXPECT_EQ(b.command.result[1], 12U);
  ASSERT_EQ(b.register_region(region(GiB, 2 * MiB), {{8 * GiB, 2 * MiB}}), HCA_OK);
  EXPECT_EQ(b.command.result[1], 21U);
  ASSERT_EQ(b.register_region(region(GiB, 4 * KiB), {{8 * GiB, 2 * MiB}}), HCA_OK);
  EXPECT_EQ(b.command.result[1], 12U) << "no larger than one entry needs";
}

// A zero-based region keeps the in-page offset of the buffer [E2].
TEST(page_size, zero_based) {
  firmware_bench b;
  hca_region r = region(0, 2 * MiB, HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_ZERO_BASED);
  r.first_offset = 0x123;
  ASSERT_EQ(b.register_region(r, {{8 * GiB, 2 * MiB}, {32 * GiB, 2 * MiB}}), HCA_OK);
  EXPECT_EQ(b.command.result[1], 21U);
  const std::uint32_t key = b.command.result[0];
  EXPECT_EQ(b.translate(key, 0), 8 * GiB + 0x123);
  EXPECT_EQ(b.translate(key, 2 * MiB - 0x124), 8 * GiB + 2 * MiB - 1);
  EXPECT_EQ(b.translate(key, 2 * MiB - 0x123), 32 * GiB);
  EXPECT_EQ(b.translate(key, 2 * MiB), std::nullopt);
}

}  // namespace
