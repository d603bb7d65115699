#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <vector>

#include "models/protection/extents.h"
#include "models/protection/judge.h"

namespace hcasim {
namespace {

const std::uint32_t key = hca_key_make(7, 0x5a);

hca_mrc region() {
  hca_mrc m{};
  m.kind = HCA_MRC_REGION;
  m.state = HCA_MRC_VALID;
  m.key_byte = 0x5a;
  m.page_shift = 12;
  m.levels = 1;
  m.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ;
  m.pd = 3;
  m.qpn = HCA_QPN_ANY;
  m.start = 0x1f00;
  m.length = 0x300;
  m.table = 0x10000;
  m.table_va = 0x1000;
  return m;
}

access_request remote_read() {
  access_request a;
  a.key = key;
  a.rights = HCA_ACCESS_REMOTE_READ;
  a.pd = 3;
  a.qpn = 21;
  a.va = 0x1f00;
  a.length = 0x300;
  a.remote = true;
  return a;
}

TEST(Judge, GrantsTheBaseCase) {
  EXPECT_EQ(judge(region(), remote_read()), verdict::granted);
}

TEST(Judge, IndexZeroIsNeverValid) {
  access_request a = remote_read();
  a.key = 0x5a;
  EXPECT_EQ(judge(region(), a), verdict::bad_index);
}

TEST(Judge, EmptyOrUnknownEntryIsBadIndex) {
  for (int kind : {int(HCA_MRC_NONE), int(HCA_MRC_KINDS), 255}) {
    hca_mrc m = region();
    m.kind = static_cast<std::uint8_t>(kind);
    EXPECT_EQ(judge(m, remote_read()), verdict::bad_index) << kind;
  }
  hca_mrc m = region();
  m.state = HCA_MRC_INVALID;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_index);
}

TEST(Judge, ExactlyOneKeyByteOf256Matches) {
  unsigned granted = 0;
  for (std::uint32_t b = 0; b < 256; ++b) {
    access_request a = remote_read();
    a.key = hca_key_make(7, static_cast<std::uint8_t>(b));
    const verdict v = judge(region(), a);
    EXPECT_EQ(v, b == 0x5a ? verdict::granted : verdict::bad_key);
    granted += v == verdict::granted;
  }
  EXPECT_EQ(granted, 1U);
}

TEST(Judge, OnlyValidMayBeUsed) {
  hca_mrc m = region();
  m.state = HCA_MRC_FREE;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_state);
  m.state = 3;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_state);
}

// kind x (PD equal) x (QPN equal) x (entry open to any QP) x (2A or 2B), against the table of [C.1].
TEST(Judge, AssociationOfEveryKind) {
  for (std::uint8_t kind = HCA_MRC_REGION; kind <= HCA_MRC_WINDOW_2; ++kind) {
    for (int bits = 0; bits < 16; ++bits) {
      const bool pd_equal = bits & 1;
      const bool qpn_equal = bits & 2;
      const bool any_qp = bits & 4;
      const bool type_2b = bits & 8;
      hca_mrc m = region();
      m.kind = kind;
      m.access |= HCA_ACCESS_REMOTE_READ;
      m.pd = pd_equal ? 3 : 4;
      m.qpn = any_qp ? std::uint32_t(HCA_QPN_ANY) : qpn_equal ? 21 : 22;
      access_request a = remote_read();
      a.type2 = type_2b ? window_association::qp_and_pd : window_association::qp;
      bool expected = pd_equal;
      if (kind == HCA_MRC_WINDOW_2) expected = !any_qp && qpn_equal && (pd_equal || !type_2b);
      if (kind == HCA_MRC_ADDRESS_SPACE) expected = pd_equal && (any_qp || qpn_equal);
      EXPECT_EQ(rules::associated(m, a), expected) << int(kind) << " " << bits;
      const verdict v = judge(m, a);
      EXPECT_EQ(v == verdict::bad_association, !expected);
    }
  }
}

// Every set of rights held against every set needed, for both sides and every kind.
TEST(Judge, RightsExhaustively) {
  for (std::uint8_t kind = HCA_MRC_REGION; kind <= HCA_MRC_WINDOW_2; ++kind) {
    for (std::uint32_t held = 0; held < 16; ++held) {
      for (std::uint32_t needed = 0; needed < 16; ++needed) {
        for (bool remote : {false, true}) {
          hca_mrc m = region();
          m.kind = kind;
          m.access = held;
          m.qpn = 21;
          access_request a = remote_read();
          a.remote = remote;
          a.rights = needed;
          bool expected = (needed & held) == needed;
          if (remote && needed == 0) expected = false;
          if (remote && kind == HCA_MRC_NULL) expected = false;
          if (!remote && kind >= HCA_MRC_WINDOW_1) expected = false;
          EXPECT_EQ(judge(m, a), expected ? verdict::granted : verdict::bad_rights)
              << int(kind) << " " << held << " " << needed;
        }
      }
    }
  }
}

TEST(Judge, EveryEdgeByteOfARegion) {
  hca_mrc m = region();
  access_request a = remote_read();
  for (std::uint64_t va = m.start - 8; va < m.start + m.length + 8; ++va) {
    a.va = va;
    a.length = 1;
    const bool inside = va >= m.start && va < m.start + m.length;
    EXPECT_EQ(judge(m, a), inside ? verdict::granted : verdict::bad_bounds) << va;
  }
}

// 128-bit arithmetic knows no overflow.
TEST(Judge, BoundsAreOverflowSafe) {
  EXPECT_TRUE(rc::check([](std::uint64_t start, std::uint64_t length, std::uint64_t va, std::uint64_t n) {
    // Pull the numbers towards each other and towards the ends now and then.
    if (*rc::gen::arbitrary<bool>()) va = start + va % 8 - 4;
    if (*rc::gen::arbitrary<bool>()) n = length + n % 8 - 4;
    if (*rc::gen::arbitrary<bool>()) start = ~start % 16 - 8;
    hca_mrc m = region();
    m.start = start;
    m.length = length;
    access_request a = remote_read();
    a.va = va;
    a.length = n;
    __extension__ typedef unsigned __int128 wide;
    const bool inside = va >= start && wide(va) + n <= wide(start) + length;
    RC_ASSERT((judge(m, a) == verdict::granted) == inside);
  }));
}

TEST(Judge, ZeroBasedWindowIsAddressedFromZero) {
  hca_mrc m = region();
  m.kind = HCA_MRC_WINDOW_2;
  m.qpn = 21;
  m.access = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_ZERO_BASED;
  m.parent = hca_key_make(9, 1);
  access_request a = remote_read();
  EXPECT_EQ(judge(m, a), verdict::bad_bounds);
  a.va = 0;
  EXPECT_EQ(judge(m, a), verdict::granted);
  a.va = 1;
  EXPECT_EQ(judge(m, a), verdict::bad_bounds);
  const mapping r = mapping_of(m, key);
  EXPECT_EQ(r.va_offset, m.start);
  EXPECT_EQ(r.map.index, 9U);
}

// With several faults at once the earliest rule decides, whatever the later ones say.
TEST(Judge, FirstFaultWins) {
  for (unsigned faults = 0; faults < 64; ++faults) {
    hca_mrc m = region();
    access_request a = remote_read();
    if (faults & 1) m.kind = HCA_MRC_NONE;
    if (faults & 2) m.key_byte ^= 1;
    if (faults & 4) m.state = HCA_MRC_FREE;
    if (faults & 8) a.pd ^= 1;
    if (faults & 16) a.rights = HCA_ACCESS_REMOTE_WRITE;
    if (faults & 32) a.va += 1;
    const auto expected = faults ? static_cast<verdict>(1 + std::countr_zero(faults)) : verdict::granted;
    EXPECT_EQ(judge(m, a), expected) << faults;
  }
}

TEST(Judge, ImpossibleTableIsAnError) {
  for (int levels : {0, 5, 255}) {
    hca_mrc m = region();
    m.levels = static_cast<std::uint8_t>(levels);
    EXPECT_EQ(judge(m, remote_read()), verdict::table_error) << levels;
  }
  hca_mrc m = region();
  m.page_shift = 13;
  EXPECT_EQ(judge(m, remote_read()), verdict::table_error);
  m.kind = HCA_MRC_PHYSICAL;
  EXPECT_EQ(judge(m, remote_read()), verdict::granted);
}

TEST(Mapping, OfEachKind) {
  hca_mrc m = region();
  mapping r = mapping_of(m, key);
  EXPECT_EQ(r.map.index, 7U);
  EXPECT_EQ(r.map.levels, 1);
  EXPECT_EQ(r.map.page_shift, 12);
  EXPECT_EQ(r.map.table, m.table);
  EXPECT_EQ(r.map.table_va, m.table_va);
  EXPECT_FALSE(r.map.null);
  EXPECT_EQ(r.va_offset, 0U);
  m.kind = HCA_MRC_PHYSICAL;
  EXPECT_EQ(mapping_of(m, key).map.levels, 0);
  m.kind = HCA_MRC_NULL;
  EXPECT_TRUE(mapping_of(m, key).map.null);
}

// Against a linear look at every extent; and no more lines than a binary search needs.
TEST(Extents, SearchEqualsLinearScan) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::uint32_t>(2, 70);
    const auto first = *rc::gen::inRange<std::uint32_t>(0, 5) * HCA_EXTENTS_PER_LINE;
    std::vector<hca_extent> all(first + count + HCA_EXTENTS_PER_LINE);
    std::uint64_t at = *rc::gen::inRange<std::uint64_t>(0, 20);
    for (std::uint32_t i = 0; i < count; ++i) {
      at += *rc::gen::inRange<std::uint64_t>(1, 6);
      all[first + i] = {at, *rc::gen::inRange<std::uint64_t>(1, 6)};
      at += all[first + i].length;
    }
    hca_mrc m = region();
    m.extent = first;
    m.extent_count = count;
    const auto lines = (count + 3) / 4;
    for (std::uint64_t va = 0; va < at + 5; ++va) {
      for (std::uint64_t n = 1; n < 8; ++n) {
        bool expected = false;
        for (std::uint32_t i = 0; i < count; ++i) {
          const hca_extent& e = all[first + i];
          expected |= va >= e.start && va + n <= e.start + e.length;
        }
        extent_search s(m, va, n);
        unsigned looked = 0;
        extent_search::result r;
        do {
          RC_ASSERT(s.line() >= first / 4 && s.line() < first / 4 + lines);
          r = s.look(&all[std::size_t{s.line()} * 4]);
          ++looked;
        } while (r == extent_search::more);
        RC_ASSERT((r == extent_search::inside) == expected);
        RC_ASSERT(looked <= std::bit_width(lines));
      }
    }
  }));
}

TEST(Extents, AtTheEndOfTheAddressSpace) {
  std::vector<hca_extent> all = {{0, 16}, {~0ULL - 15, 16}, {}, {}};
  hca_mrc m = region();
  m.extent_count = 2;
  auto look = [&](std::uint64_t va, std::uint64_t n) { return extent_search(m, va, n).look(all.data()); };
  EXPECT_EQ(look(~0ULL, 1), extent_search::inside);
  EXPECT_EQ(look(~0ULL, 2), extent_search::outside);
  EXPECT_EQ(look(~0ULL - 15, 16), extent_search::inside);
  EXPECT_EQ(look(~0ULL - 16, 2), extent_search::outside);
}

// The plain function must not limit a simulation; a hundredth of the goal of 50 M/s fails even an unoptimised build.
TEST(Judge, IsFast) {
  std::vector<hca_mrc> table(64, region());
  access_request a = remote_read();
  std::uint64_t granted = 0;
  constexpr unsigned n = 20'000'000;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n; ++i) {
    a.va = 0x1f00 + (i & 1);
    granted += judge(table[i % 64], a) == verdict::granted;
  }
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
  RecordProperty("million_verdicts_per_second", int(n / s.count() / 1e6));
  std::printf("%.0f M verdicts/s\n", n / s.count() / 1e6);
  EXPECT_EQ(granted, n / 2);
  EXPECT_GT(n / s.count(), 0.5e6);
}

}  // namespace
}  // namespace hcasim
